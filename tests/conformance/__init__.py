"""Results of upstream programs, recorded, against those of cpuplan: `python -m tests.conformance
SUITE [PATH...]`.
"""
