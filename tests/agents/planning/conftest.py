from tests.serve.conftest import embedder, graph, graph_copy

__all__ = ["embedder", "graph", "graph_copy"]
