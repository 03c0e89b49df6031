"""YAML to documents, with the place of every value and everything that is wrong with them."""
