"""Components that only nodes of OpenShift have."""
