"""Implements `Source` for arXiv. Fetches a paper by id or address. The metadata comes from the API. The text is the
LaTeX source, or the PDF if there is no source."""

import re
import tempfile
from pathlib import Path

import arxiv
from pydantic import ValidationError

from xkg.build.paper.archive import LARGEST_ARCHIVE
from xkg.build.paper.read import LARGEST_PDF
from xkg.build.parsing.parsers import Parsers
from xkg.build.parsing.source_kind import WITHDRAWN
from xkg.build.sources.arxiv_feed import ABSENT, REMEDY, Feed, arxiv_web
from xkg.build.sources.paper_source import PaperFile
from xkg.clock import CLOCK, Clock
from xkg.errors import InputError, StoreError, UnreachableError, UnsafeInputError
from xkg.files import private_folder, sha256_of, sync_file, write_whole
from xkg.text.arxiv_id import ArxivId, arxiv_id
from xkg.value import Value


class _Record(Value):
    """The API's metadata for one version, stored next to the fetched file. `file` and `sha256` describe this file."""

    number: str
    version: str
    title: str
    authors: tuple[str, ...]
    abstract: str
    year: int
    subfield: str | None = None
    doi: str | None
    comment: str
    file: str = ""
    sha256: str = ""

    def __str__(self) -> str:
        return f"arXiv:{self.number}{self.version}"


class ArxivSource:
    """Fetches papers from arXiv, or from a mirror at `url`. Stores one file per version in `folder`.

    A stored version is not fetched again. If arXiv cannot be reached, the newest stored version is used."""

    def __init__(self, folder: Path, url: str, parsers: Parsers | None = None, *, clock: Clock = CLOCK) -> None:
        self._folder, self._url, self._parsers = folder, url.rstrip("/"), parsers or Parsers()
        self._web = arxiv_web(300, clock)
        self._feed = Feed(self._web, self._url)

    def names(self, spec: str) -> bool:
        return arxiv_id(spec) is not None

    def paper(self, spec: str) -> PaperFile:
        """Returns the paper with this id or address. Raises the same errors as `Source.paper`, and `StoreError` if
        `folder` cannot be written."""
        requested = arxiv_id(spec)
        if requested is None:
            raise InputError(f"{spec} is not an arXiv id; use one such as 2401.01234, 2401.01234v2 or cs/0112017")
        known = self._stored(requested)
        if known is not None and requested.version:
            return self._file(known)
        try:
            record = self._record(requested)
        except UnreachableError as error:
            if known is None:
                raise
            return self._file(known, f"used {known}, which was fetched earlier: {error}")
        stored = self._stored(ArxivId(record.number, record.version))
        if stored is not None:
            return self._file(stored)
        try:
            private_folder(self._folder)
            with tempfile.TemporaryDirectory(prefix=".fetch-", dir=self._folder) as work:
                return self._bring(record, Path(work))
        except OSError as error:
            raise StoreError(
                f"cannot write {self._folder}: {error.strerror}; free disk space or correct its permissions"
            ) from error

    def stored_version(self, number: str) -> str | None:
        """Returns the newest stored version of a paper, or None if no version is stored. Does not send requests."""
        known = self._stored(ArxivId(number, ""))
        return known.version if known is not None else None

    def _record(self, requested: ArxivId) -> _Record:
        unknown = InputError(f"arXiv has no paper {requested}; check the id and the version")
        try:
            entry = next(self._feed.entries(ids=[str(requested)], most=1), None)
        except arxiv.HTTPError as error:
            raise unknown from error
        answered = arxiv_id(entry.entry_id) if entry is not None else None
        if entry is None or answered is None or answered.number != requested.number:
            raise unknown
        doi = re.search(r"10\.\d{4,9}/\S+", entry.doi or "")
        return _Record(
            number=answered.number,
            version=answered.version or "v1",
            title=" ".join(entry.title.split()),
            authors=tuple(" ".join(author.name.split()) for author in entry.authors),
            abstract=" ".join(entry.summary.split()),
            year=entry.published.year,
            subfield=entry.primary_category or None,
            doi=doi.group() if doi else None,
            comment=" ".join((entry.comment or "").split()),
        )

    def _bring(self, record: _Record, work: Path) -> PaperFile:
        """Fetches the version's source into `work`, or its PDF if there is no source. Then stores the file."""
        source, printed, trouble = work / "source", work / "printed", ""
        suffix: str | None = None
        if self._save(record, "src", source, LARGEST_ARCHIVE):
            try:
                kind = self._parsers.source_kind(source)
            except UnsafeInputError as error:
                message = str(error).replace(str(source), f"the source of {record}", 1)
                raise UnsafeInputError(f"{message}; download {self._address(record, 'pdf')} and use that") from error
            except InputError as error:
                trouble = str(error).replace(str(source), f"the source of {record}", 1).partition(";")[0]
            else:
                if kind.withdrawn:
                    raise _nothing(record, withdrawn=True)
                suffix = kind.suffix
        if suffix is None:
            source, suffix = printed, ".pdf"
            if not self._save(record, "pdf", printed, LARGEST_PDF) or b"%PDF-" not in _head(printed):
                raise _nothing(record, withdrawn=bool(WITHDRAWN.search(record.comment)))
        record = record.model_copy(update={"file": _stem(record) + suffix, "sha256": sha256_of(source)})
        sync_file(source)
        source.replace(self._folder / record.file)
        if trouble:  # not stored, because the next attempt may get the whole source
            return self._file(record, f"{trouble}: the PDF was used instead")
        write_whole(self._folder / f"{_stem(record)}.json", record.model_dump_json(indent=1).encode())
        return self._file(record)

    def _save(self, record: _Record, kind: str, path: Path, largest: int) -> bool:
        """Downloads a file of this kind to `path`. Returns False if arXiv does not have the file."""
        status = self._web.save(self._address(record, kind), largest, path)
        if status != 200 and status not in ABSENT:
            raise UnreachableError(
                f"{self._address(record, kind)} returned status {status}; try again later, or {REMEDY}"
            )
        return status == 200

    def _address(self, record: _Record, kind: str) -> str:
        return f"{self._url}/{kind}/{record.number}{record.version}"

    def _stored(self, requested: ArxivId) -> _Record | None:
        """Returns the requested version, or the newest stored version if no version is requested. Ignores versions
        whose file is missing or damaged."""
        stem = _stem(requested)
        records: list[_Record] = []
        for path in self._folder.glob(f"{stem}.json" if requested.version else f"{stem}v*.json"):
            try:
                record = _Record.model_validate_json(path.read_bytes())
                if sha256_of(self._folder / record.file) == record.sha256:
                    records.append(record)
            except (OSError, ValidationError):  # fetch the file again
                continue
        return max(records, key=lambda record: int(record.version[1:]), default=None)

    def _file(self, record: _Record, *notes: str) -> PaperFile:
        if record.file.endswith(".pdf") and not notes:
            notes = (f"{record} has no readable LaTeX source: its PDF was used",)
        if WITHDRAWN.search(record.comment):
            notes = (*notes, f"{record} has the comment: {record.comment}")
        return PaperFile(
            path=self._folder / record.file,
            title=record.title,
            authors=record.authors,
            abstract=record.abstract,
            year=record.year,
            subfield=record.subfield,
            arxiv_id=record.number,
            arxiv_version=record.version,
            doi=record.doi,
            notes=notes,
        )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1024)


def _stem(of: "_Record | ArxivId") -> str:
    return of.number.replace("/", "-") + of.version


def _nothing(record: _Record, *, withdrawn: bool) -> InputError:
    number, version = record.number, int(record.version[1:])
    advice = f"use an earlier version, such as {number}v{version - 1}, or" if version > 1 else "instead,"
    if withdrawn:
        comment = f" ({record.comment[:200]})" if record.comment else ""
        return InputError(f"{record} was withdrawn{comment}; {advice} pass the paper's own files")
    return InputError(f"arXiv provides neither source nor PDF for {record}; {advice} pass the paper's own files")
