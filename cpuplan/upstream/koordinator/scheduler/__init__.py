"""The plugin NodeNUMAResource of koord-scheduler (pkg/scheduler/plugins/nodenumaresource)."""
