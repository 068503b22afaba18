"""Builds a `PaperBundle` from a paper and its repository. Each kind of stage has its own package. `pipeline` runs the
stages in order.

May import: llm, embeddings, sandbox, and the layers below these three. This layer does not depend on any database. Code
that serves a graph imports this layer only to read a repository or a paper, so serving works without the `build`
extra."""

from importlib.util import find_spec

from xkg.errors import MissingExtraError

NEEDED = (
    *("arxiv", "lxml", "pylatexenc", "pypdfium2", "requests", "tree_sitter", "urllib3", "uv"),
    *(
        f"tree_sitter_{name}"
        for name in "c c_sharp cpp cuda go java javascript julia matlab php python rust typescript".split()
    ),
)

if any(find_spec(name) is None for name in NEEDED):
    raise MissingExtraError("build", "reading papers and repositories")
