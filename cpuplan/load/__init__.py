"""Text to models: the YAML reader, the documents, the fleet they describe, the lock of solved layouts."""
