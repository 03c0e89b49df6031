"""CRI-O: how it reads and checks its files, and what its hooks write to cgroups."""
