"""Lets every test import `tests.…`: pytest puts the folder of this file's package, the repository, on the path."""

import hypothesis

# A machine that does something else besides must not fail a test: time is for benchmarks.
hypothesis.settings.register_profile("cpuplan", deadline=None)
hypothesis.settings.load_profile("cpuplan")
