"""A graph on a Neo4j that a team shares. The graph is the truth; bundles are made from it and into it."""
