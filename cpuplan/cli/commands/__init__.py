"""The commands: a module each, with a click command called `command`."""
