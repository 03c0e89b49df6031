"""One number in a document or an option: whatever it is, each command answers with little work.

`generator` makes projects in which one value is extreme, `child` runs a command in a process with
limits of memory and of processor time.
"""
