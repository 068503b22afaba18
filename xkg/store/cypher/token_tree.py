"""A statement's tokens with their keywords and brackets, used to find and split parts of the statement."""

from collections.abc import Iterator, Sequence

from xkg.store.cypher.tokens import CLAUSES, Token, mark_at


class TokenTree:
    """`words` contains each token's keyword, or ''; `closing` maps each opening bracket to its closing one. Brackets
    must be balanced."""

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

    def mark(self, i: int) -> str:
        return mark_at(self.tokens, i)

    def name(self, i: int) -> str:
        """The name at token i, or ''."""
        if not 0 <= i < len(self.tokens) or self.words[i] or self.tokens[i].kind not in ("word", "quoted"):
            return ""
        return self.tokens[i].text.strip("`")

    def tops(self, start: int, end: int) -> Iterator[int]:
        """The indexes of the tokens in a part that are outside its brackets, including the opening brackets."""
        i = start
        while i < end:
            yield i
            i = self.closing.get(i, i) + 1

    def parts(self, start: int, end: int, mark: str = ",") -> list[tuple[int, int]]:
        """Splits the part at a mark outside its brackets."""
        cuts = [i for i in self.tops(start, end) if self.mark(i) == mark]
        starts, ends = [start, *(cut + 1 for cut in cuts)], [*cuts, end]
        return [(first, stop) for first, stop in zip(starts, ends, strict=True) if first < stop]

    def find(self, start: int, end: int, word: str) -> int:
        """The index of the first of these keywords or marks outside brackets, or `end`; `||` does not count as `|`."""
        for i in self.tops(start, end):
            if word in (self.words[i], self.mark(i)) and not (
                word == "|" and "|" in (self.mark(i - 1), self.mark(i + 1))
            ):
                return i
        return end

    def clauses(self, start: int, end: int) -> list[int]:
        """The indexes of keywords that start a clause outside brackets; the WITH in `STARTS WITH` does not."""
        words = self.words
        return [
            i
            for i in self.tops(start, end)
            if words[i] in CLAUSES and not (words[i] == "WITH" and i and words[i - 1] in ("STARTS", "ENDS"))
        ]
