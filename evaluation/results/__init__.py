"""A measurement's results as JSON and as a table, and their comparison with an earlier run. Apart from `xkg`, this
package imports nothing from this project."""
