"""The topology-aware policy: a tree of pools after the machine.

Not ported: device hints, affinity by annotation, CPU classes' preferences among pools, cold start
and interrupts. None of them is known of a pod before it runs, or changes CPUs without hardware that
tells more.
"""
