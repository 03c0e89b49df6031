"""Compare a node's root file system with the settings that were compiled for it."""
