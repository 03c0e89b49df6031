"""Pods: what they ask for, their defaults and QoS classes."""
