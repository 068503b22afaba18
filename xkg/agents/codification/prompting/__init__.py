"""The questions to a run's models with their answers, and the planner's memory; each prompt has a file in `prompts/`.

May import xkg.llm and the layers below, but nothing from the run."""
