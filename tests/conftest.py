"""Lets every test import `tests.…`: pytest puts the folder of this file's package, the repository, on the path."""
