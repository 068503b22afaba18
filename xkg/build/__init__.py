"""Paper and repository to `PaperBundle`: one module a stage, `pipeline` orders them. Knows nothing of any database."""
