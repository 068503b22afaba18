"""Uses agent programs on this machine as language models: starts each program and parses its answer.

May import: `xkg.llm.endpoint`, `xkg.llm.request` and `xkg.llm.prices`, and any layer below `llm`."""
