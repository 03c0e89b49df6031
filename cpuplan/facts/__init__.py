"""What is known of settings, platforms and releases: one row for each, that every command asks."""
