"""What the models of a run are asked and may answer, and what the planner remembers; one file a prompt in `prompts/`.

May import xkg.llm and what lies below; nothing of the run.
"""
