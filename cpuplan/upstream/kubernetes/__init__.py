"""Kubernetes itself: pods, amounts, labels, feature gates, and text and JSON as Go does them."""
