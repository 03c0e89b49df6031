"""The port of Linux 6.12: what it makes of a command line and of cpusets; and lists of systemd."""
