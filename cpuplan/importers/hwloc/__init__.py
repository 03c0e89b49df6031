"""hwloc's XML."""
