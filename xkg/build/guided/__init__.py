"""The build stages that use a language model. Each has a static counterpart in a neighbouring package of build.

May import: every package of build."""
