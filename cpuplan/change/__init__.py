"""What changes from one plan to the next: its impact, what it needs, and what undoes it."""
