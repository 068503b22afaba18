"""Code that runs inside the sandbox, alongside the untrusted code.

May import only the standard library, because this code must start within milliseconds and no other xkg modules are
available inside the sandbox."""
