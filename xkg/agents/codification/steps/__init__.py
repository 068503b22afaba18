"""The steps of a run: who chooses the next one, how often actions of one pool may follow one another, and doing it.

May import the other rooms of `xkg implement`, but neither the run nor its report.
"""
