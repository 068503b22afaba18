"""What contains a job: bubblewrap, Landlock, seccomp, the watchdog.

May import: guest, and what lies below sandbox.
"""
