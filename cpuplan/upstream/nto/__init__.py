"""OpenShift's node tuning operator: which TuneD profile it chooses, and what it tells a node."""
