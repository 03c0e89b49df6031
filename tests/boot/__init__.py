"""Planned machines, booted: a kernel and systemd of Debian, with what cpuplan compiled for a node.

QEMU emulates the machine of `guest/inventories`, and nothing on the host is touched. A boot takes
one to three minutes of processor time, so these tests have a marker of their own, `boot`.
"""
