"""The dynamic policy, which is cpuplan's own."""
