"""Mappings of the input documents as pydantic's models: fields, and what a value must be like."""
