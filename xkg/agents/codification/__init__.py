"""Implements methods: an agent turns a method description and starter code into working, checked code.

The design follows ResearchCodeAgent (Gandhi et al., "ResearchCodeAgent: An LLM Multi-Agent System for Automated
Codification of Research Methodologies", 2025). The agent has a planner, short- and long-term memory, typed actions, and
a cascade of models. In this agent, the planner also writes the edits. `run.py` defines the order of the steps.

May import: workspace, and the layers below agents."""
