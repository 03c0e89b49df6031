"""Koordinator 1.8.0: how its scheduler, its node agent (koordlet) and its webhooks decide.

It knows no plan and no diagnostics.
"""
