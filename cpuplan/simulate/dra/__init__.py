"""Claims of the DRA CPU driver in simulations."""
