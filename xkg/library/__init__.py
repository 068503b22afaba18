"""A library: papers as static files, which any web server, object store or git repository can serve.

Only `head.json` ever changes. May import: `store`, `build`, `embeddings` and the lowest layer."""
