"""Detects the headings in a printed paper by their font.

Headings use the same fonts as "Introduction", "References" and the numbered subsections."""

import re
from collections import Counter
from collections.abc import Sequence

from xkg.build.paper.headings import KNOWN_TITLE, split_number
from xkg.build.paper.pdf_html.pdf_layout import Placed
from xkg.build.paper.pdf_html.pdf_marks import ALGORITHM, CAPTION, caseless, starts_upper, text_of

_ALONE = re.compile(r"(?i)(abstract|references|bibliography|acknowledge?ments?|(?:\d\.?|I\.)? ?introduction)\W*$")

Font = tuple[float, bool, bool, bool]


def without_number(text: str) -> str:
    return split_number(text.strip("§ "))[1].strip()


class HeadingFonts:
    """Maps the fonts of a paper's headings to heading levels. A font consists of a size and whether it is bold, italic
    or in capitals."""

    def __init__(self, lines: Sequence[Placed], body: float) -> None:
        self._body = body
        self._levels: dict[Font, Counter[int]] = {}
        self._numbered: Counter[Font] = Counter()
        numbered: dict[Font, set[str]] = {}
        for placed in lines:
            font = self._font(placed)
            text = placed.line.text.strip(" §")
            if font is None or not 3 <= len(text) <= 120:
                continue
            number, title = split_number(text)
            lettered = bool(re.fullmatch(r"[A-H]", number or ""))  # the heading may be a subsection
            if KNOWN_TITLE.match(title.strip(" .:")) and not lettered and (number or self._stands_out(font)):
                self._levels.setdefault(font, Counter())[number.count(".") + 1 if number else 1] += 3
            elif number and starts_upper(title) and self._stands_out(font) and not text.endswith((",", ";")):
                numbered.setdefault(font, set()).add(number)
        named = bool(self._levels)
        for font, numbers in numbered.items():
            self._numbered[font] += len(numbers)
            if (
                font in self._levels
                or sum("." in n for n in numbers) >= 2
                or {"A", "B"} <= numbers
                or not (named or {"1", "2", "3"} - numbers)
            ):
                levels = self._levels.setdefault(font, Counter())
                lettered = not levels  # subsections "A." in sections "I."
                for number in numbers:
                    levels[2 if lettered and number.isalpha() else number.count(".") + 1] += 1

    def level(self, group: Sequence[Placed]) -> int:
        """Returns the level of a heading, or 0 for any other line."""
        text = text_of(group).lstrip("§ ")
        if _ALONE.match(text) or re.fullmatch(r"(?:[A-Z] ){4,}[A-Z]", text):
            return 1
        fonts = {self._font(placed) for placed in group}
        font = next(iter(fonts))
        if len(fonts) > 1 or font is None or len(text) > 150 or len(group) > 3:
            return 0
        number, title = split_number(text)
        if font not in self._levels:
            return 0
        words = caseless(title) or sum(len(word) for word in re.findall(r"[^\W\d_]{3,}", title))
        if (
            words < 0.5 * len(title.replace(" ", ""))
            or "@" in text
            or "http" in text
            or CAPTION.match(text)
            or ALGORITHM.match(text)
            or re.search(r"[=\[←]", text)
        ):
            return 0
        usual = self._levels[font].most_common(1)[0][0]
        if number is None and not KNOWN_TITLE.match(title.strip(" .:")):
            larger = font[0] > 1.05 * self._body
            if (not larger and (self._numbered[font] > 2 or not font[1])) or re.search(r"[.,;]$", text):
                return 0
        if number is not None and not starts_upper(title):
            return 0
        return min(4, number.count(".") + 1 if number and number[0].isdigit() else usual)

    def same(self, a: Placed, b: Placed) -> bool:
        font = self._font(a)
        return font is not None and font in self._levels and font == self._font(b)

    def is_heading(self, placed: Placed) -> bool:
        return bool(self.level((placed,)))

    def _stands_out(self, font: Font) -> bool:
        return font[1] or font[2] or font[3] or font[0] >= 1.08 * self._body

    @staticmethod
    def _font(placed: Placed) -> Font | None:
        """Returns the font of a line, or None if the line uses several fonts. Ignores words in a formula font."""
        runs = [run for run in placed.line.runs if re.search(r"[^\W\d_]", run.text) and not run.style.math]
        if not runs:
            return None
        letters = "".join(re.findall(r"[^\W\d_]", placed.line.text))
        if len({(run.style.bold, run.style.italic) for run in runs}) > 1:
            return None
        size = max(run.style.size for run in runs)
        if not letters.isupper() and any(run.style.size < 0.9 * size for run in runs):
            return None
        return round(2 * size) / 2, runs[0].style.bold, runs[0].style.italic, letters.isupper() and len(letters) > 3
