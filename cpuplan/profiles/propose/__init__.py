"""Intents from must-gathers: what OpenShift's performance profile creator is asked, answered as an
Intent.
"""
