"""The machine against its inventory: CPUs, cores, caches, NUMA nodes, memory, devices."""
