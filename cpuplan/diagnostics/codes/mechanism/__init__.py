"""Codes of single mechanisms that give CPUs to containers beside the kubelet, and of targets."""

from cpuplan.diagnostics.codes.mechanism import dra, draclaims, nri, targets

CODES = {**dra.CODES, **draclaims.CODES, **nri.CODES, **targets.CODES}
