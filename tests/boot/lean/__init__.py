"""Guests that are a kernel, busybox and what was compiled for them: without systemd, and quick."""
