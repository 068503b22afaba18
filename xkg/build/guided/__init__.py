"""The build stages that use a language model. Each stage has a model-free counterpart in a sibling package.

May import: every package in `build`."""
