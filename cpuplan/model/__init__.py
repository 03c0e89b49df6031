"""Mappings of the input documents as classes: fields with their types, and what a value must be
like.

pydantic's core checks values and says all that is wrong with them, and pydantic makes JSON Schemas;
both take what `coreschema` tells them of the classes here. pydantic's own classes would do the
same, and cost every command more time at its start than all the rest of it (docs/benchmarks.md).
"""

from cpuplan.model.base import Model
from cpuplan.model.fields import Before, Field, JsonForm, ReadBy, problem

__all__ = ["Before", "Field", "JsonForm", "Model", "ReadBy", "problem"]
