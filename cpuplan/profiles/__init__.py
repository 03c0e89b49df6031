"""PerformanceProfiles: read as Intents, checked by the operator's rules, written, and proposed."""
