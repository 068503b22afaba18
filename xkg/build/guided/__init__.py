"""The build stages that use a language model. Each has a static counterpart in the packages next to this one.

May import: every package of build."""
