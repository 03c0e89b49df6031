"""Values to text, JSON, SARIF and SVG: what people and other programs read."""
