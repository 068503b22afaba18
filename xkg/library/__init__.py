"""A library stores papers as static files, which any web server, object store or git repository can serve.

Only `head.json` ever changes. This package may import from `store`, `build`, `embeddings` and the lowest layer."""
