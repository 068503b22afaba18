"""Confines a job, a program or a parser: bubblewrap, Landlock, seccomp, containers, the watchdog, the proxy to listed
hosts.

May import: guest, and the layers below sandbox."""
