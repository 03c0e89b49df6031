"""What cpuplan stands on: locked by hash, listed, audited.

`.ci/run` calls these; CONTRIBUTING.md says more.
"""
