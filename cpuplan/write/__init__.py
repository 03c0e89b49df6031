"""Writing: the output folder, in one step, and single files."""
