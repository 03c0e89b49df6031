"""containerd's configuration as its daemon reads it: files, their merge, and what plugins take."""
