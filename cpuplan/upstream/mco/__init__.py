"""The port of OpenShift's machine config operator: what a node gets, and what a change costs.

Objects are mappings as the YAML reader gives them; releases are (major, minor).
"""
