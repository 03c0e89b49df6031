"""The DRA CPU driver (kubernetes-sigs/dra-driver-cpu): its configuration, classes and claims."""
