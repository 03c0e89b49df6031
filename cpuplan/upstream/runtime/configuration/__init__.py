"""CRI-O's configuration as its daemon reads it: files, their merge, and what it refuses when."""
