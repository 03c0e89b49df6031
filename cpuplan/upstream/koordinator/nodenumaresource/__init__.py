"""The plugin NodeNUMAResource of koord-scheduler."""
