"""Where a check reads: the root of a live host, a copy of one, an archive that stays packed."""
