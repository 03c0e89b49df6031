"""Ports: what programs of others do, each in a folder of its own, without plan or finding."""
