"""What servers send: JSON of any shape, and answers at any pace."""
