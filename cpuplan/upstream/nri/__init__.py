"""The NRI resource policies of nri-plugins 0.14: balloons and topology-aware.

Their reader of /sys, their CPU allocator, their memory allocator, and what both policies do with
containers. Like every port it is pure: it knows no plan and no diagnostics.
"""
