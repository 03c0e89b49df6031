"""Simulated nodes: a table, a picture of who has which CPUs, and JSON."""
