"""The output of lscpu(1)."""
