"""Ignition configs as the machine config operator reads, checks and merges them."""
