"""Maps as self-contained SVG 1.1 pictures."""
