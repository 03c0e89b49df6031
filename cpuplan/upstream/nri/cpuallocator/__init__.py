"""The CPU allocator that both resource policies use (pkg/cpuallocator)."""
