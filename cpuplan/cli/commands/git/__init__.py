"""Commands about what Git has of a project, and what it will have."""
