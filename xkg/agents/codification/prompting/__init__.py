"""Defines the models' answers and the planner's memory. Each prompt is a file in `prompts/`.

May import xkg.llm and the layers below, but nothing from the run."""
