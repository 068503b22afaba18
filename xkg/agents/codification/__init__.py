"""An agent that turns the description of a method and starter code into code that runs and is checked.

The design is that of ResearchCodeAgent (Gandhi et al., "ResearchCodeAgent: An LLM Multi-Agent System for Automated
Codification of Research Methodologies", 2025): a planner with short and long memory, typed actions, workers, a cascade
of models, and pools of actions against loops. `run.py` has the order of things.

May import: workspace, and what lies below agents.
"""
