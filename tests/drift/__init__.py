"""Whether an API server keeps emitted objects as they are: schemas with their defaults, and a real
server where there is one.
"""
