"""Control groups of pods and containers: cpusets, partitions and quotas against the plan."""
