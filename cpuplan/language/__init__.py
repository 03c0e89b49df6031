"""The language of inventories and intents: its documents, and how they are read."""
