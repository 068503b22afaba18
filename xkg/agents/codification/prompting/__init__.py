"""The questions to a run's models with their answers, and the planner's memory; one file per prompt in `prompts/`.

May import xkg.llm and the layers below; nothing of the run."""
