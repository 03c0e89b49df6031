"""Work that is divided: in this process, in several of this machine, or by an executor's workers.

    work --parts--> anywhere --packed results--> results, in the order of the work

Who divides work does not change its results, and neither does the order in which parts end.
"""

from cpuplan.workers.divide import HERE, Workers, results
from cpuplan.workers.work import Work

__all__ = ["HERE", "Work", "Workers", "results"]
