"""What users ask of the kubelet of a planned node before there is one."""
