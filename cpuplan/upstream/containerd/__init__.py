"""containerd: how it merges its files, and what its CRI plugin takes from them."""
