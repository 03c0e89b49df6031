"""TuneD: how its daemon reads, merges and expands profiles, without running anything."""
