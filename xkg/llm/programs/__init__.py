"""Agent programs on this machine as language models: how to start each one and read its answer.

May import: `xkg.llm.endpoint`, `xkg.llm.request` and `xkg.llm.prices`, and what lies below `llm`."""
