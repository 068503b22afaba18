"""`python -m xkg.serve [--kg DIR]`: the server over stdio with the settings in force."""

import argparse
from pathlib import Path

from xkg.config import load
from xkg.serve.stdio import serve

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m xkg.serve", description="Serve a graph over MCP on stdio.")
    parser.add_argument("--kg", type=Path, help="the graph's folder")
    serve(load(kg=parser.parse_args().kg))
