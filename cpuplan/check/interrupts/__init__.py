"""Interrupts: where they may go, where they go, and how often they came to isolated CPUs."""
