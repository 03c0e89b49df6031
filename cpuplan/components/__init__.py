"""Plan to settings, settings to text and back: one module for each program on a node."""
