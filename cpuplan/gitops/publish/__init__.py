"""What was compiled, as commits of a branch, and the statement of what it was made from."""
