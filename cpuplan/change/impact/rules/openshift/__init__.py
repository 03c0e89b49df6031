"""OpenShift: what the machine config operator and the node tuning operator do."""
