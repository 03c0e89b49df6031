"""The tests, and the two programs beside them: `tests.conformance` and `tests.generate`."""
