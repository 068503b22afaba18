"""Defines a value that ends the run as soon as it is used. If a run with this value ends like the baseline, no code
uses the value.

The value may be stored, passed on, copied and printed. The program ends when it computes with the value, compares it or
branches on it. C code rejects the value or ends the program."""

_USES = (
    "bool float int index complex eq ne lt le gt ge hash len iter next contains getitem call neg abs round add radd sub"
    " rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow"
)
_NAMES = " ".join(f"__{name}__" for name in _USES.split())

VALUE = f'type("Unused", (), dict.fromkeys("{_NAMES}".split(), lambda *_: __import__("sys").exit("it is used")))()'
"""The probe as a Python expression."""

TEXT = "xkg-unused"
"""The probe in a configuration file. Arithmetic with this value fails."""
