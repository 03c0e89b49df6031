"""Intents from must-gathers, from the options of OpenShift's performance profile creator."""
