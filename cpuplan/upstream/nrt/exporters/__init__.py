"""What exporters publish of a node: the same data of the kubelet, read by each in its own way."""
