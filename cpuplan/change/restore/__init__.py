"""Undo, in imported machines, what a plan changed.

A node that booted with its plan has CPUs switched off, huge pages reserved and memory hidden. None
of that is a fact of the hardware: if it were imported as one, each import and compilation would
take more away.
"""
