"""Why: the reasons of a CPU, a pool or a setting, and what codes, rules and defaults mean."""
