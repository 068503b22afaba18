"""Fuzzes one parser, guided by coverage: `python -m tests.fuzz.driver NAME SECONDS`.

NAME is one of `TARGETS`. The first inputs are pieces of the format's own syntax. The run stops, and prints the input,
if the parser raises an undocumented error or takes over ten seconds or 2 GB."""

import logging
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["xkg"]):
    from tests.fuzz.targets import TARGETS
    from tests.growth.fragments import FRAGMENTS

_SECONDS, _MEGABYTES, _LONGEST = 10, 2048, 4096


def main() -> None:
    name, seconds = sys.argv[1], int(sys.argv[2])
    parse, seeds = TARGETS[name]
    pumps = FRAGMENTS.get(name, [])
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words"
        pieces = dict.fromkeys(pump.piece for pump in pumps if len(pump.piece) < 60)
        words.write_text("".join(f'"{_escaped(piece)}"\n' for piece in pieces))
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        frames = dict.fromkeys((pump.before + pump.piece * 3 + pump.after).encode() for pump in pumps)
        for number, seed in enumerate((*seeds, *frames)):
            (corpus / str(number)).write_bytes(seed[:_LONGEST])
        logging.disable()
        atheris.Setup(
            [
                sys.argv[0],
                str(corpus),
                *([f"-dict={words}"] if pieces else []),
                f"-max_total_time={seconds}",
                f"-timeout={_SECONDS}",
                f"-rss_limit_mb={_MEGABYTES}",
                f"-max_len={_LONGEST}",
                f"-artifact_prefix={Path.cwd()}/",
                "-print_final_stats=1",
                "-verbosity=1",
            ],
            parse,
        )
        atheris.Fuzz()


def _escaped(piece: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in piece.encode())


if __name__ == "__main__":
    main()
