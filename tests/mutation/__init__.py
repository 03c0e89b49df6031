"""Roots of nodes that hold everything, with one fact of each changed in turn.

What is changed follows from the settings and facts of a plan and from what its node shows, so that
a fact that nobody thought of is changed too. `python -m tests.mutation` prints what was found.
"""
