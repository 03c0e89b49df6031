"""What the API of a cluster says, against what was compiled: for its nodes, pools and objects."""
