"""Programs that give CPUs to containers through NRI, beside the kubelet."""
