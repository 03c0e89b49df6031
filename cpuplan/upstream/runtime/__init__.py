"""What CRI-O and the kernel make of containers: cgroups, mixed CPUs, QoS sets."""
