"""The DRA CPU driver as an allocator."""

from cpuplan.simulate.allocators.dra.allocator import NOT_CREATED, NOT_PREPARED, DraAllocator

__all__ = ["NOT_CREATED", "NOT_PREPARED", "DraAllocator"]
