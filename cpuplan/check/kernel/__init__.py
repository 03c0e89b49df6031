"""The running kernel: its arguments and what it made of them, and what it gets at the next boot."""
