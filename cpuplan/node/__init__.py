"""What runs on a node: the agent, and the bundle that needs nothing but Python."""
