"""What a change costs on a node: reboots, drains, restarts of services, or nothing."""
