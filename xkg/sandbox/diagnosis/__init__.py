"""Diagnoses what a failed command lacked, from its output and its network attempts: a package, a GPU, a download.

May import: the other packages of sandbox, and the layers below."""
