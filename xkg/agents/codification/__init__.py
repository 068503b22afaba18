"""An agent that turns a method description and starter code into running, checked code.

The design is that of ResearchCodeAgent (Gandhi et al., "ResearchCodeAgent: An LLM Multi-Agent System for Automated
Codification of Research Methodologies", 2025): a planner with short- and long-term memory, typed actions, workers, a
cascade of models, and pools of actions that prevent loops. `run.py` defines the order of the steps.

May import: workspace, and the layers below agents."""
