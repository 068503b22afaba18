"""Contains the build stages that use a language model. Each stage has a counterpart in a sibling package that needs no
model.

May import: every package in `build`."""
