"""`cpuplan bundle`: what `check` and `agent` need as one file, for nodes with Python only."""
