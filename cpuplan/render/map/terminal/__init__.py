"""Maps as text."""
