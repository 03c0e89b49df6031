"""Update an existing inventory from an import: files change only where machines differ."""
