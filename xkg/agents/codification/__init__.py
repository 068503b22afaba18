"""An agent that turns the description of a method and starter code into checked code that runs.

The design is that of ResearchCodeAgent (Gandhi et al., "ResearchCodeAgent: An LLM Multi-Agent System for Automated
Codification of Research Methodologies", 2025): a planner with short- and long-term memory, typed actions, workers, a
cascade of models. `run.py` has the order of steps.

May import: workspace, and the layers below agents."""
