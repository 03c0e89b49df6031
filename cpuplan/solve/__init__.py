"""Rules and goals as data, the layout that satisfies them, and remedies where none does."""
