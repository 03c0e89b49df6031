"""Does a node hold what was compiled for it? Reads a root file system and compares it with the
node's settings.
"""
