"""Every setting as one row: its key, its defaults, its releases, where it shows, what it costs."""
