"""Runs work items on this machine or on a Ray cluster. An item may be a paper to build or an ablation candidate; this
package treats both alike.

May import: settings, errors and files."""
