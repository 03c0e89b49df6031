"""What Go does with text, JSON and durations."""
