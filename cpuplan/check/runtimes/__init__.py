"""CRI-O and containerd as they run: command lines, files, handlers, programs."""
