"""Code that runs inside the sandbox, alongside the untrusted code.

Modules in this package may import only the standard library. Guest code must start within milliseconds, and no other
xkg modules are available inside the sandbox."""
