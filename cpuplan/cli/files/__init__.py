"""Files on the command line: whose they are, and what reads them."""
