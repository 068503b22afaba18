"""Uses pdfium to extract the text of a PDF as fragments with positions and fonts.

Positions are in points from the upper left corner of the page, so a smaller `top` is higher on the page."""

import ctypes
import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from xkg.build.paper.pdf_html.pdf_ligatures import Place, Words, ligatures, split_word
from xkg.build.paper.pdf_html.pdf_rulers import PrintedNumber, ruler_numbers
from xkg.errors import InputError, UnsafeInputError

MOST_PAGES = 1000
_FEWEST_CHARACTERS = 100
_FEWEST_IN_WORDS = 0.3  # the minimum fraction of letters in words, which is at least 0.6 for most papers
_MOST_CHARACTERS = 100_000  # on one page

_WORD = re.compile(r"[^\W\d_]{3,}")
_BOLD = re.compile(r"(?i)bold|black|heavy|demi|-medi|cmbx|cmb\d|sfbx|ecbx")
_ITALIC = re.compile(r"(?i)ital|obli|slant|-it\b|cmti|cmsl|sfti|ecti")
_MATH = re.compile(r"(?i)cm(?:mi|sy|ex|bsy)|ms[ab]m|math|symbol|eufm|rsfs|mtmi|mtsy|[tp]x(?:mi|sy|ex)|stmary|wasy|euex")
_ITALIC_FLAG, _WIDEST_GAP = 1 << 6, 1.6
_DIGITS = frozenset("0123456789")
_WHITE = frozenset((0x09, 0x0A, 0x0D, 0x20, 0xA0, 0xAD))
_ACCENTS = {"´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "˘": "\u0306",
            "¸": "\u0327", "¯": "\u0304", "˚": "\u030a", "˝": "\u030b", "˙": "\u0307"}  # fmt: skip
_DOTLESS = {"ı": "i", "ȷ": "j"}  # letters that occur under an accent
_lock = threading.Lock()  # all threads share pdfium's state


@dataclass(frozen=True, slots=True)
class Style:
    """The font of a text fragment. `size` is in points. `math` is True for formula fonts."""

    size: float
    bold: bool
    italic: bool
    math: bool


@dataclass(frozen=True, slots=True)
class Run:
    text: str
    style: Style


@dataclass(frozen=True, slots=True)
class Line:
    """Text on one baseline. `page` counts from 1."""

    page: int
    x0: float
    x1: float
    top: float
    bottom: float
    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def size(self) -> float:
        """Returns the font size of most letters in the line. Text in small capitals counts as having the size of the
        text before it."""
        weights: dict[float, int] = {}
        for before, run in zip((None, *self.runs), self.runs, strict=False):
            small = before is not None and run.text.isupper() and 0.7 < run.style.size / before.style.size < 0.85
            size = before.style.size if before is not None and small and before.text[-1:].isupper() else run.style.size
            weights[size] = weights.get(size, 0) + len(run.text.replace(" ", ""))
        return max(weights, key=lambda size: (weights[size], size))


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of a page. `margin` contains rotated text, such as arXiv's stamp."""

    width: float
    height: float
    fragments: tuple[Line, ...]
    margin: str


@dataclass(frozen=True, slots=True)
class PrintedPaper:
    pages: tuple[Page, ...]
    title: str
    """The title from the file's metadata, or '' if the file has none."""


def read_pdf(data: bytes, path: Path) -> PrintedPaper:
    """Reads a PDF. Raises `InputError` if the PDF is damaged, truncated or encrypted, or if its text cannot be
    extracted. Raises `UnsafeInputError` if the PDF has too many pages for a paper."""
    damaged = InputError(f"{path} is a damaged or truncated PDF; download it again, or use the paper's LaTeX source")
    if b"%%EOF" not in data[-4096:]:
        raise damaged
    with _lock:
        try:
            document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            # pdfium may still return the previous file's error code
            if error.err_code == raw.FPDF_ERR_PASSWORD and b"/Encrypt" in data:
                raise InputError(f"{path} is encrypted; save it without a password, and pass the saved file") from error
            raise damaged from error
        try:
            if len(document) > MOST_PAGES:
                raise UnsafeInputError(f"{path} has {len(document)} pages, too many for a paper; pass only the paper")
            pages, unreadable = _pages(document, {})
            if known := ligatures(unreadable):
                pages, _ = _pages(document, known)
            title = str(document.get_metadata_value("Title") or "")
        except pdfium.PdfiumError as error:
            raise damaged from error
        finally:
            document.close()
    remedy = "use the paper's LaTeX source, or add a text layer to the PDF with OCR (such as ocrmypdf)"
    text = " ".join(line.text for page in pages for line in page.fragments)
    if len(text) < _FEWEST_CHARACTERS:
        raise InputError(f"{path} has no text, only images (a scan?); {remedy}")
    if sum(map(len, _WORD.findall(text))) < _FEWEST_IN_WORDS * len(text.replace(" ", "")):
        raise InputError(f"{path} has no readable text: its fonts do not identify their characters; {remedy}")
    return PrintedPaper(pages, " ".join(title.split()))


@dataclass(slots=True)
class _Character:
    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    style: Style
    upright: bool


def _pages(document: pdfium.PdfDocument, known: Mapping[Place, str]) -> tuple[tuple[Page, ...], Words]:
    """Decodes the pages with the `known` characters. Returns the pages, and the words around any characters that remain
    unreadable."""
    unreadable: Words = {}
    pages = (_page(document[index], index + 1, known, unreadable) for index in range(len(document)))
    return tuple(pages), unreadable


def _page(page: pdfium.PdfPage, number: int, known: Mapping[Place, str], unreadable: Words) -> Page:
    width, height = page.get_size()
    text = page.get_textpage()
    try:
        fragments: list[Line] = []
        margin: list[str] = []
        current: list[_Character] = []
        characters = list(_accented(_CharacterReader(text, height, known, unreadable), text.count_chars()))
        for character, after_space in _without_line_numbers(characters):
            if not character.upright:
                margin.append((" " if after_space and margin else "") + character.text)
                continue
            if current and not _follows(current[-1], character):
                fragments.append(_line(current, number))
                current = []
            if current and after_space:
                current[-1].text += " "
            current.append(character)
        if current:
            fragments.append(_line(current, number))
    finally:
        text.close()
        page.close()
    return Page(width, height, tuple(f for f in fragments if f.text.strip()), "".join(margin))


def _without_line_numbers(characters: Sequence[tuple[_Character, bool]]) -> Iterator[tuple[_Character, bool]]:
    places, numbers = [], []
    for start, end in _bare_digits([character for character, _ in characters]):
        digits = [character for character, _ in characters[start:end]]
        middle = (digits[0].top + digits[0].bottom) / 2
        value = int("".join(digit.text for digit in digits))
        places.append((start, end))
        numbers.append(PrintedNumber(value, digits[0].x0, digits[-1].x1, middle))
    removed = {place for index in ruler_numbers(numbers) for place in range(*places[index])}
    return (pair for place, pair in enumerate(characters) if place not in removed)


def _bare_digits(characters: Sequence[_Character]) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each run of up to five digits between whitespace."""
    start = 0
    for index, character in enumerate(characters):
        if index and _touches(characters[index - 1], character):
            continue
        if _are_digits(characters[start:index]):
            yield start, index
        start = index
    if _are_digits(characters[start:]):
        yield start, len(characters)


def _are_digits(characters: Sequence[_Character]) -> bool:
    return 0 < len(characters) < 6 and all(c.text in _DIGITS and c.upright for c in characters)


def _touches(before: _Character, after: _Character) -> bool:
    gap = after.x0 - before.x1
    return _follows(before, after) and before.style == after.style and abs(gap) < 0.2 * after.style.size


def _accented(reader: "_CharacterReader", count: int) -> Iterator[tuple[_Character, bool]]:
    """Yields each character, and whether whitespace precedes it. Merges accents that TeX placed over a letter."""
    space = False
    accent: _Character | None = None
    last: _Character | None = None
    for index in range(min(count, _MOST_CHARACTERS)):
        character = reader.at(index)
        if character is None:
            space = True
            continue
        if accent is not None and _over(accent, character):
            character.text = _with_accent(character.text, accent.text)
            accent = None
        if character.text in _ACCENTS:
            if last is not None and _over(character, last):
                last.text = _with_accent(last.text, character.text)
            else:
                accent = character
            continue
        yield character, space
        last, space = character, False


def _with_accent(letter: str, accent: str) -> str:
    return unicodedata.normalize("NFC", _DOTLESS.get(letter, letter) + _ACCENTS[accent])


def _over(accent: _Character, letter: _Character) -> bool:
    beside = letter.x0 - 1 < (accent.x0 + accent.x1) / 2 < letter.x1 + 1
    return letter.text.isalpha() and beside and abs(letter.bottom - accent.bottom) < 0.6 * letter.style.size


class _CharacterReader:
    """Reads the characters on a page by index, looking up each text object's font only once."""

    def __init__(self, text: pdfium.PdfTextPage, height: float, known: Mapping[Place, str], unreadable: Words) -> None:
        self._text, self._height = text, height
        self._known, self._unreadable = known, unreadable
        self._styles: dict[int | None, tuple[Style, bool, str]] = {}
        self._box = raw.FS_RECTF()

    def at(self, index: int) -> _Character | None:
        """Returns the character at an index, or None for whitespace and characters generated by pdfium."""
        code = raw.FPDFText_GetUnicode(self._text, index)
        if raw.FPDFText_IsHyphen(self._text, index) == 1:
            code = 0x2D
        character = _readable(code) or self._ligature(index, code)
        if not character or (code != 0x2D and raw.FPDFText_IsGenerated(self._text, index) == 1):
            return None
        raw.FPDFText_GetLooseCharBox(self._text, index, ctypes.byref(self._box))
        style, upright, _ = self._style(index)
        box = self._box
        top, bottom = self._height - box.top, self._height - box.bottom
        return _Character(character, box.left, box.right, top, bottom, style, upright)

    def _ligature(self, index: int, code: int) -> str:
        """Returns the ligature for an unreadable character, or '' if it is unknown."""
        if code in _WHITE or raw.FPDFText_IsGenerated(self._text, index) == 1:
            return ""
        style, _, font = self._style(index)
        if not style.math and (font, code) not in self._known:
            split = split_word(lambda at: chr(raw.FPDFText_GetUnicode(self._text, at)), index)
            if any(split):
                self._unreadable.setdefault((font, code), Counter())[split] += 1
        return self._known.get((font, code), "")

    def _style(self, index: int) -> tuple[Style, bool, str]:
        piece = ctypes.cast(raw.FPDFText_GetTextObject(self._text, index), ctypes.c_void_p).value
        if piece not in self._styles:
            name, flags, matrix = ctypes.create_string_buffer(200), ctypes.c_int(), raw.FS_MATRIX()
            raw.FPDFText_GetFontInfo(self._text, index, name, 200, ctypes.byref(flags))
            raw.FPDFText_GetMatrix(self._text, index, ctypes.byref(matrix))
            font = name.value.decode("utf-8", "replace")
            size = raw.FPDFText_GetFontSize(self._text, index) * math.hypot(matrix.c, matrix.d)
            style = Style(
                size=round(min(size, 1000.0), 1),
                bold=bool(_BOLD.search(font)) or raw.FPDFText_GetFontWeight(self._text, index) >= 650,
                italic=bool(_ITALIC.search(font) or flags.value & _ITALIC_FLAG),
                math=bool(_MATH.search(font)),
            )
            upright = abs(matrix.b) <= 0.1 * abs(matrix.a) or matrix.a == matrix.b == 0
            self._styles[piece] = style, upright, font
        return self._styles[piece]


def _readable(code: int) -> str:
    """Returns a character as text, with ligatures split. Returns '' for whitespace and unreadable characters."""
    if code < 0x21 or code in (0x7F, 0xA0, 0xAD, 0xFFFE, 0xFFFF) or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return ""
    character = chr(code)
    if 0xFB00 <= code <= 0xFB06 or 0xFF01 <= code <= 0xFF5E:
        return unicodedata.normalize("NFKC", character)
    return "" if character.isspace() or unicodedata.category(character) in ("Cc", "Cf") else character


def _follows(before: _Character, after: _Character) -> bool:
    """Returns whether a character is on the same line as the previous character. Superscripts count."""
    shared = min(before.bottom, after.bottom) - max(before.top, after.top)
    lower = min(before.bottom - before.top, after.bottom - after.top)
    size = max(before.style.size, after.style.size)
    return shared > 0.35 * lower and -1.2 * size < after.x0 - before.x1 < _WIDEST_GAP * size


def _line(characters: list[_Character], page: int) -> Line:
    runs: list[Run] = []
    for character in characters:
        if runs and runs[-1].style == character.style:
            runs[-1] = Run(runs[-1].text + character.text, character.style)
        else:
            runs.append(Run(character.text, character.style))
    main = max(characters, key=lambda c: c.style.size).style.size
    large = [c for c in characters if c.style.size >= 0.8 * main] or characters
    return Line(
        page,
        min(c.x0 for c in characters),
        max(c.x1 for c in characters),
        sorted(c.top for c in large)[len(large) // 2],
        sorted(c.bottom for c in large)[len(large) // 2],
        tuple(runs),
    )
