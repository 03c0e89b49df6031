"""What one room of the check leaves for another in the cache of a subject."""

#: The units with a finding on their affinity (CP869), which explains their threads.
UNITS = "units with CPUs of others"
#: The name there of systemd itself, whose affinity all units without one have.
MANAGER = "systemd"
