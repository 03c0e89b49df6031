"""koordlet, Koordinator's agent on a node: what it reports, and which CPUs it gives to whom."""
