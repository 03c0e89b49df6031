"""A planned node and its pods as Koordinator sees them."""
