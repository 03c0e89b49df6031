"""Machines that were read as their hardware is: what a plan did to them, undone.

A node that booted what was planned has CPUs off, pages set aside and memory left out. None of that
is a fact of the hardware: taken for one, each import and compilation would take more away.
"""
