import contextlib
import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build.paper import papers
from xkg.build.paper import archive
from xkg.build.paper.read import parse_paper
from xkg.errors import InputError, UnsafeInputError


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as file:  # type: ignore[call-overload]
        for member, data in members:
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("kind", ["w", "w:gz", "zip"])
def test_an_archive_gives_the_same_paper_as_its_folder(tmp_path: Path, kind: str) -> None:
    main = papers.latex_paper(tmp_path / "paper")
    path = tmp_path / "2101.00001v2"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            for source in main.parent.rglob("*.*"):
                file.write(source, source.relative_to(main.parent))
    else:
        with tarfile.open(path, kind) as file:  # type: ignore[call-overload]
            file.add(main.parent, ".")
    document, original = parse_paper(path), parse_paper(main)
    assert document.text == original.text
    assert document.sections == original.sections
    assert document.references == original.references
    assert document.source_sha256 == original.source_sha256
    assert document.arxiv_id == "2101.00001"


def test_a_single_gzipped_file_is_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "paper.gz"
    path.write_bytes(gzip.compress(b"\\documentclass{article}\\begin{document}\\section{One}\\end{document}"))
    assert [section.title for section in parse_paper(path).sections] == ["One"]


@pytest.mark.parametrize(
    "evil",
    [
        member("../evil.tex"),
        member("a/../../evil.tex"),
        member("a/../evil.tex"),
        member("/tmp/evil.tex"),
        member("C:/evil.tex"),
        member("..\\evil.tex"),
        member("link.tex", tarfile.SYMTYPE, "/etc/passwd"),
        member("hard.tex", tarfile.LNKTYPE, "main.tex"),
        member("null.tex", tarfile.CHRTYPE),
        member("disk.tex", tarfile.BLKTYPE),
        member("pipe.tex", tarfile.FIFOTYPE),
    ],
    ids=lambda m: m.name,
)
def test_an_archive_that_reaches_outside_is_refused(tmp_path: Path, evil: tarfile.TarInfo) -> None:
    path = tar(tmp_path / "a.tar.gz", (member("main.tex"), b"\\section{a}"), (evil, b""))
    with pytest.raises(UnsafeInputError, match="not unpacked"):
        parse_paper(path)


@pytest.mark.parametrize("name", ["../evil.tex", "/evil.tex", "a\\..\\..\\evil.tex"])
def test_a_zip_that_reaches_outside_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        info = zipfile.ZipInfo("x")
        info.filename = name
        file.writestr(info, "x")
    with pytest.raises(UnsafeInputError):
        parse_paper(tmp_path / "a.zip")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        info = zipfile.ZipInfo("link.tex")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(info, "/etc/passwd")
    with pytest.raises(UnsafeInputError, match="link"):
        parse_paper(tmp_path / "a.zip")


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_RATIO_COUNTS_FROM", 100_000)
    zeros = bytes(2_000_000)
    with pytest.raises(UnsafeInputError, match="times its size"):
        parse_paper(tar(tmp_path / "a.tar.gz", (member("figure.png"), zeros)))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("figure.png", zeros)
    with pytest.raises(UnsafeInputError, match="more than its compressed size"):
        parse_paper(tmp_path / "a.zip")
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    many = [(member(f"{i}.tex"), b"x") for i in range(5)]
    with pytest.raises(UnsafeInputError, match="more than 3 files"):
        parse_paper(tar(tmp_path / "b.tar.gz", *many))
    monkeypatch.setattr(archive, "LARGEST_ARCHIVE", 10)
    with pytest.raises(UnsafeInputError, match="MB"):
        parse_paper(tmp_path / "b.tar.gz")


def test_an_archive_without_a_paper_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no paper"):
        parse_paper(tar(tmp_path / "a.tar.gz", (member("figure.png"), b"png")))


@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip", "a.tar", "a.gz"])
@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b", b"PK\x03\x04 and then nothing"])
def test_a_corrupt_archive_is_told_so(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"again|corrupt"):
        parse_paper(path)


@given(st.data())
def test_flipped_and_cut_archives_raise_nothing_but_input_errors(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    source = (member("main.tex"), b"\\documentclass{a}\\begin{document}\\section{A}\\end{document}")
    if data.draw(st.booleans()):
        path = tar(
            folder / "a", source, (member("b.bib"), b"@a{b, title={c}}"), mode=data.draw(st.sampled_from(["w", "w:gz"]))
        )
    else:
        path = folder / "a"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("main.tex", source[1])
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(1, len(content)))]))
    with contextlib.suppress(InputError):
        assert parse_paper(path).source_sha256
