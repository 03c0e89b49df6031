"""Words of the models, for stages that load no model."""

#: Before the name of a partition of the isolated pool.
PARTITION = "isolated."
#: Policies of the topology manager that refuse what is not aligned. With them memory is too, as on
#: OpenShift.
ALIGNING = ("restricted", "single-numa-node")
