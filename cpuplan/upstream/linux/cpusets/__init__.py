"""The cpuset controller of Linux 6.12 (control groups version 2; kernel/cgroup/cpuset.c)."""
