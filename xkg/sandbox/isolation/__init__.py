"""Confines a job, a program or a parser: bubblewrap, Landlock, seccomp, containers, the watchdog, and the proxy for
allowed hosts.

May import: guest, and the layers below sandbox."""
