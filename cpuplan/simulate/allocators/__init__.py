"""Allocators: what gives CPUs to the pods of a node. `registry` has their names."""
