"""cpuplan: compiles inventories and intents into every file that partitions a node's CPUs."""

__version__ = "0.1.0"

#: The `apiVersion` of every document. It stands here because importing must not load the models of
#: documents.
API_VERSION = "cpuplan.io/v1alpha1"
