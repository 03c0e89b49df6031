"""The habits of this project that no other tool checks (`python -m tests.habits`)."""
