"""The pages of docs/ that are made from the code: a module for each, named as the page is."""
