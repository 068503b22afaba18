"""A library: papers as static files, which any web server, object store or git repository can hold.

Nothing in it is changed but `head.json`. Imports `store`, `build`, `embeddings` and the ground."""
