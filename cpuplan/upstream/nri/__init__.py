"""The port of the NRI resource policies (containers/nri-plugins 0.14): what their reader makes of
a machine, how their CPU allocator chooses, and what the balloons policy does with containers.

Like every port it is pure: it knows no plan and no diagnostics.
"""
