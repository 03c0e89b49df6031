"""`python -m cpuplan`."""

from cpuplan.cli.main import main

main()
