"""The commands: arguments in, a plain call, an exit code out."""
