"""What the nodes of a class must show: written by `compile`, and all that `check` reads of a plan.

The files need no intents, no solver and no models, so that they can be read where nothing else is:
on a node, and in a container.
"""
