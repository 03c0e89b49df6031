"""Admission of the ConfigMap slo-controller-config (pkg/webhook/cm/plugins/sloconfig)."""
