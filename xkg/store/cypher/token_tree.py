"""Finds and splits parts of a statement, using its tokens, keywords and brackets."""

from collections.abc import Iterator, Sequence

from xkg.store.cypher.tokens import CLAUSES, Token, mark_at


class TokenTree:
    """Finds parts of a statement, given its tokens. `words` contains each token's keyword, or ''. `closing` maps each
    opening bracket to its closing bracket. Brackets must be balanced."""

    def __init__(self, tokens: Sequence[Token], words: Sequence[str]) -> None:
        self.tokens = tokens
        self.words = words
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for i in range(len(tokens)):
            if self.mark(i) in ("(", "[", "{"):
                opened.append(i)
            elif self.mark(i) in (")", "]", "}"):
                self.closing[opened.pop()] = i

    def enclosing(self, i: int) -> int:
        """Returns the index of the innermost bracket around token i, or -1."""
        return max((start for start, end in self.closing.items() if start < i < end), default=-1)

    def mark(self, i: int) -> str:
        return mark_at(self.tokens, i)

    def name(self, i: int) -> str:
        """Returns the name at token i, or ''."""
        if not 0 <= i < len(self.tokens) or self.words[i] or self.tokens[i].kind not in ("word", "quoted"):
            return ""
        return self.tokens[i].text.strip("`")

    def tops(self, start: int, end: int) -> Iterator[int]:
        """Yields the indexes of the tokens outside brackets, including the opening brackets."""
        i = start
        while i < end:
            yield i
            i = self.closing.get(i, i) + 1

    def parts(self, start: int, end: int, mark: str = ",") -> list[tuple[int, int]]:
        """Splits a range of tokens at a punctuation mark outside brackets."""
        cuts = [i for i in self.tops(start, end) if self.mark(i) == mark]
        starts, ends = [start, *(cut + 1 for cut in cuts)], [*cuts, end]
        return [(first, stop) for first, stop in zip(starts, ends, strict=True) if first < stop]

    def find(self, start: int, end: int, word: str) -> int:
        """Returns the index of the first occurrence of a keyword or punctuation mark outside brackets, or `end`. `||`
        is not treated as `|`."""
        for i in self.tops(start, end):
            if word in (self.words[i], self.mark(i)) and not (
                word == "|" and "|" in (self.mark(i - 1), self.mark(i + 1))
            ):
                return i
        return end

    def clauses(self, start: int, end: int) -> list[int]:
        """Returns the indexes of keywords that start a clause outside brackets, excluding the WITH in `STARTS WITH`."""
        words = self.words
        return [
            i
            for i in self.tops(start, end)
            if words[i] in CLAUSES and not (words[i] == "WITH" and i and words[i - 1] in ("STARTS", "ENDS"))
        ]
