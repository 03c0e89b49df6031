"""The answers of a check: what holds, what differs, and what nothing shows."""
