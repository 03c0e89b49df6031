"""Tests of the comparison of mechanisms."""
