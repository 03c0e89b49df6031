"""The DRA CPU driver (dra-driver-cpu after 0.2.0), and how claims get its devices.

Its configuration, the machine as it sees it, the devices that it publishes, and the CPUs that it
gives to claims. Like every port it is pure: it knows no plan and no diagnostics.
"""
