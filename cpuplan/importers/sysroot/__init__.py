"""/sys and /proc of a machine."""
