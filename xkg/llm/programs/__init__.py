"""Agent programs of this machine as language models: how each is started, and how its answer is read.

May import: `xkg.llm.endpoint`, `xkg.llm.request` and `xkg.llm.prices`, and what lies below `llm`.
"""
