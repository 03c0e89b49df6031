"""File trees that others made: folders, archives, must-gathers."""
