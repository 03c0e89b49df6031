"""The admission webhooks of koord-manager, by their decisions."""
