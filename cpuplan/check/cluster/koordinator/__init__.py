"""What Koordinator's programs publish of a node, against what was compiled and its pods."""
