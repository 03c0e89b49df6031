"""Linux: what the kernel makes of its command line, and of cpuset cgroups."""
