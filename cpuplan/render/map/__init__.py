"""Machines and plans as drawings: text for terminals, SVG."""
