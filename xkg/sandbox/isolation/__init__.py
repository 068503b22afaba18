"""Confines jobs, programs and parsers, using bubblewrap, Landlock, seccomp, containers, a watchdog, and a proxy for
allowed hosts.

This package may import `guest` and the layers below `sandbox`."""
