"""What contains a job, a program or a parser: bubblewrap, Landlock, seccomp, the watchdog, one host by proxy.

May import: guest, and what lies below sandbox.
"""
