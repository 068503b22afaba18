"""The tokens of a statement with their keywords and brackets: where a part starts, ends and is divided."""

from collections.abc import Iterator, Sequence

from xkg.store.cypher.tokens import CLAUSES, Token, mark_at


class TokenTree:
    """`words` has the keyword that each token is, or nothing; `closing` the end of each bracket by its start. The
    brackets are balanced."""

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
        """The name that token i is; else nothing."""
        if not 0 <= i < len(self.tokens) or self.words[i] or self.tokens[i].kind not in ("word", "quoted"):
            return ""
        return self.tokens[i].text.strip("`")

    def tops(self, start: int, end: int) -> Iterator[int]:
        """The tokens of a part that are in none of its brackets, and its opening brackets."""
        i = start
        while i < end:
            yield i
            i = self.closing.get(i, i) + 1

    def parts(self, start: int, end: int, mark: str = ",") -> list[tuple[int, int]]:
        """The part, split at a mark outside of its brackets."""
        cuts = [i for i in self.tops(start, end) if self.mark(i) == mark]
        starts, ends = [start, *(cut + 1 for cut in cuts)], [*cuts, end]
        return [(first, stop) for first, stop in zip(starts, ends, strict=True) if first < stop]

    def find(self, start: int, end: int, word: str) -> int:
        """The first such keyword or mark outside of brackets, or `end`; `||` is no `|`."""
        for i in self.tops(start, end):
            if word in (self.words[i], self.mark(i)) and not (
                word == "|" and "|" in (self.mark(i - 1), self.mark(i + 1))
            ):
                return i
        return end

    def clauses(self, start: int, end: int) -> list[int]:
        """The keywords that open a clause outside of brackets; WITH is none in `STARTS WITH`."""
        words = self.words
        return [
            i
            for i in self.tops(start, end)
            if words[i] in CLAUSES and not (words[i] == "WITH" and i and words[i - 1] in ("STARTS", "ENDS"))
        ]

    def lambda_body(self, start: int, end: int) -> int | None:
        """Where the body of LadybugDB's `x -> …` or `(x, y) -> …` starts."""
        arrow = start + 1 if self.name(start) else self.closing.get(start, end) + 1
        return arrow + 2 if arrow + 2 < end and self.mark(arrow) == "-" and self.mark(arrow + 1) == ">" else None
