"""Koordinator's labels and annotations: their names, and their values as Go has them."""
