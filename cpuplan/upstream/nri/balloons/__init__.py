"""The balloons policy: groups of CPUs that grow and shrink with containers.

Not simulated: memory limits (no container is moved for want of memory), interrupts, frequencies and
scheduling. They change neither CPUs nor memory nodes without Speed Select.
"""
