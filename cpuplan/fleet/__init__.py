"""Documents to classes of nodes: groups, claims, targets, hardware; the lock of solved layouts."""
