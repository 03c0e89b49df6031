"""Codes of single mechanisms that give CPUs to containers beside the kubelet."""

from cpuplan.codes.mechanism import dra, draclaims

CODES = {**dra.CODES, **draclaims.CODES}
