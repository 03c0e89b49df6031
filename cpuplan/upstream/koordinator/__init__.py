"""A port of Koordinator: how its scheduler, its node agent (koordlet) and its webhooks decide.

Behaviour of release 1.8.0; it knows no plan and no diagnostics.
"""
