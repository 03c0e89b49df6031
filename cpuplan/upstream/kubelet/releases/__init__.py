"""What changed with which release: gates, options, behaviour."""
