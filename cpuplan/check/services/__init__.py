"""Programs of the operating system: systemd and its units, irqbalance, TuneD, and their files."""
