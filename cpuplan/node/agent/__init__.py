"""`cpuplan agent`: checks a node every so often, and tells others what it found."""
