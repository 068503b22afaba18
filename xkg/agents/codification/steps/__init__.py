"""The steps of a run: choosing the next one, limiting repeated actions of one pool, and executing it.

May import the other packages of `xkg implement`, but neither the run nor its report."""
