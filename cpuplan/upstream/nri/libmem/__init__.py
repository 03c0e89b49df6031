"""Memory nodes of containers with amounts (pkg/resmgr/lib/memory): offers and overcommitment."""
