"""Tries a candidate's new imports once in the sandbox before it costs a run: an import inside a function could fail
hours later."""

import json
import shlex
from collections.abc import Sequence

from xkg.agents.ablation.changed_code import NewImport
from xkg.agents.workspace.command import Commands
from xkg.agents.workspace.workspace import Workspace

_MARK = "import that does not work: "
_PROGRAM = f"""\
import importlib, json, os, sys
for path, module, names in json.loads(sys.argv[1]):
    folder, package = os.path.dirname(path), []
    sys.path.insert(0, os.path.abspath(folder))
    while folder and os.path.exists(os.path.join(folder, "__init__.py")):
        package.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    sys.path.insert(0, os.path.abspath(folder))
    if module.startswith(".") and not package:
        package = os.path.dirname(path).split("/")
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module, ".".join(package) or None)
        for name in names:
            if not hasattr(found, name):
                importlib.import_module(f"{{found.__name__}}.{{name}}")
    except Exception as error:
        sys.exit({_MARK!r} + f"{{module}}: {{type(error).__name__}}: {{error}}")
"""


def broken_import(commands: Commands, workspace: Workspace, imports: Sequence[NewImport]) -> str | None:
    """The import that fails, in one line; None if all work, or if the limits of `commands` prevent an answer."""
    if not imports:
        return None
    asked = json.dumps([[each.path, each.module, each.names] for each in imports])
    result = commands.run(workspace, f"python -c {shlex.quote(_PROGRAM)} {shlex.quote(asked)}")
    lines = [line for line in result.output.splitlines() if line.startswith(_MARK)]
    return f"a new {' '.join(lines[-1].split())[:300]}" if lines else None
