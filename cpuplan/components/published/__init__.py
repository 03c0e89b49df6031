"""What programs of a cluster publish of its nodes. Expected state: cpuplan never applies it."""
