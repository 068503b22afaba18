"""`python -m xkg.serve`: the server over stdio with the settings in force."""

from xkg.config import load
from xkg.serve.server import serve

if __name__ == "__main__":
    serve(load())
