"""Diagnoses what a failed command lacked (a package, a GPU or a download) from its output and its network attempts.

May import: the other packages of sandbox, and the layers below."""
