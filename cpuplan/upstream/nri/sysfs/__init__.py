"""What the plugin reads of /sys (pkg/sysfs), with its mistakes."""
