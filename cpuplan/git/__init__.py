"""Git, asked through its program: trees of any commit, and commits that nobody loses work by."""
