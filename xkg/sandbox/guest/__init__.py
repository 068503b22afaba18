"""Code that runs inside the sandbox, next to the untrusted code.

May import: only the standard library, since this code must start within milliseconds and the rest of xkg is not
available inside the sandbox."""
