"""Values of Koordinator's annotations: read with its errors, and written as it writes them."""
