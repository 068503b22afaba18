"""Code that runs inside the sandbox, next to the untrusted code.

May import: the standard library alone, since it must start in milliseconds and the rest of xkg is not available
inside."""
