"""The kubelet as it runs: its command line and files, its state files, and whether it runs."""
