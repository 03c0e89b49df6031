"""What the kubelet refuses in its configuration, by subject; the table is in `validation`."""
