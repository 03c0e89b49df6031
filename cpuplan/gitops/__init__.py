"""How a plan gets to main: judged before a merge, and published after it."""
