"""Writes a measurement's results as JSON and as a table, and compares them with an earlier run. Apart from `xkg`, this
package imports nothing from this project."""
