"""Uses agent programs on this machine as language models by starting each program and parsing its answer.

May import: `xkg.llm.endpoint`, `xkg.llm.request` and `xkg.llm.prices`, and any layer below `llm`."""
