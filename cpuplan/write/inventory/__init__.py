"""An import into an inventory that is there: its files change where the machines differ."""
