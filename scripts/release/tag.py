"""Tags a release: `python -m scripts.release.tag VERSION` (`make release VERSION=0.2.0`).

The section of CHANGELOG.md becomes the tag's message and the release notes in dist/notes.md. If the section's heading
says "not released", a separate commit replaces this with the date. Nothing is pushed; the last line of output says how
to push."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

CHANGELOG = Path("CHANGELOG.md")
_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def section(text: str, version: str) -> tuple[str, str]:
    """Returns the heading and text of a version's section in the changelog. Raises `SystemExit` if there is no such
    section."""
    found = re.search(rf"^## {re.escape(version)}(,[^\n]*)?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None or not found[2].strip():
        raise SystemExit(f"{CHANGELOG} has no section `## {version}` with changes: write it first")
    return found[0].partition("\n")[0], found[2].strip()


def main(version: str) -> None:
    numbers = _NUMBERS.fullmatch(version)
    if numbers is None:
        raise SystemExit(f"{version!r} is no version: give three numbers, as in VERSION=0.2.0")
    if _git("status", "--porcelain"):
        raise SystemExit("the clone has changes that are not committed: commit or stash them first")
    tags = [tag.removeprefix("v") for tag in _git("tag", "--list", "v*").split()]
    released = [found for tag in tags if (found := _NUMBERS.fullmatch(tag))]
    latest = max((tuple(map(int, tag.groups())) for tag in released), default=(0, 0, 0))
    if tuple(map(int, numbers.groups())) <= latest:
        raise SystemExit(f"{version} is not above {'.'.join(map(str, latest))}, the last tag: give a later version")
    text = CHANGELOG.read_text(encoding="utf-8")
    heading, notes = section(text, version)
    if "not released" in heading:
        dated = f"## {version}, {datetime.now(UTC).date()}"
        CHANGELOG.write_text(text.replace(heading, dated, 1), encoding="utf-8")
        _git("commit", "--quiet", "--message", f"Release {version}", str(CHANGELOG))
    Path("dist").mkdir(exist_ok=True)
    (Path("dist") / "notes.md").write_text(notes + "\n", encoding="utf-8")
    _git("tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--message", f"xkg {version}\n\n{notes}\n")
    print(f"v{version} is tagged, dist/notes.md has its notes: git push --follow-tags publishes it")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
