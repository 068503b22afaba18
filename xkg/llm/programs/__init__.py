"""Uses agent programs on this machine as language models by starting each program and parsing its answer.

This package may import `xkg.llm.endpoint`, `xkg.llm.request` and `xkg.llm.prices`, and any layer below `llm`."""
