"""Comparison with recorded truth: real machines, real programs. Run by `python -m tests.conformance`."""
