"""Programs of a node as they run: their processes, and what systemd starts them with."""
