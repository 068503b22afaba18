"""Runs callers' scripts on code from the graph, in the sandbox: which code with which packages (`runs`), for whom and
how often (`callers_runs`), and what is returned (`answer`, `pictures`).

May import: answers, jobs, the service, and the layers below serve."""
