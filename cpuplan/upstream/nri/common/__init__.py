"""What both resource policies make of containers, expressions and configuration files."""
