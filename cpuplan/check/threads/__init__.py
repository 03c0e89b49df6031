"""Every thread of a node: where it may run, and whether the plan lets it run there."""
