"""cpuplan: compiles hardware inventories and intents into every file that partitions a node's CPUs."""

__version__ = "0.1.0"
