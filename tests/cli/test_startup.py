import subprocess
import sys


def test_reading_the_command_line_imports_no_model_of_the_graph() -> None:
    """Importing pydantic and the model takes as long as the rest of a server's start."""
    code = "import sys, xkg.cli.main; print(*sorted({'pydantic', 'numpy', 'xkg.model'} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.split() == []
