"""Whole processes, timed side by side; see docs/benchmarks.md."""
