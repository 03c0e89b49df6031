"""Codes of single mechanisms that give CPUs to containers beside the kubelet."""

from cpuplan.codes.mechanism import dra, draclaims, nri

CODES = {**dra.CODES, **draclaims.CODES, **nri.CODES}
