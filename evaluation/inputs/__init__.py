"""Reads inputs for measurements: graphs in any format, and rows written by people or models. Apart from `xkg`, this
package imports nothing from this project."""
