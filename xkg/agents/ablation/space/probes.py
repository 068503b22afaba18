"""A value that ends the run as soon as it is used: a run that ends as the baseline did shows that nothing used it.

It may be stored, handed on, copied and printed. Whatever computes with it, compares it or branches on it ends the
program, and code in C refuses it, or has used it as well."""

_USES = (
    "bool float int index complex eq ne lt le gt ge hash len iter next contains getitem call neg abs round add radd sub"
    " rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow"
)
_NAMES = " ".join(f"__{name}__" for name in _USES.split())

VALUE = f'type("Unused", (), dict.fromkeys("{_NAMES}".split(), lambda *_: __import__("sys").exit("it is used")))()'
"""As an expression of Python."""

TEXT = "xkg-unused"
"""As the value of a configuration file, which no arithmetic takes."""
