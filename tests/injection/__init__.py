"""Hostile texts through every field that others can write, into every output: refused, or inert."""
