"""What others send: JSON of any shape, and answers of servers at any pace."""
