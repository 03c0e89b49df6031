"""OpenShift's machine config operator: what a node gets, and what a change costs."""
