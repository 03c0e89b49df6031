"""Strategies for NUMA nodes, of which any other text is LeastAllocated, and a frequent reason."""

MOST_ALLOCATED, LEAST_ALLOCATED = "MostAllocated", "LeastAllocated"

NOT_ENOUGH_CPUS = "not enough cpus available to satisfy request"
