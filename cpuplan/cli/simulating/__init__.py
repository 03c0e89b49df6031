"""What `simulate` does beside a simulation of the nodes as they are planned."""
