"""The document of warnings that do not count for a while: Waivers (pydantic)."""

from datetime import date
from typing import Annotated, Self

from pydantic import Field, model_validator

from cpuplan.model.base import Model, matching, problem
from cpuplan.model.document import Listed

_PLACE = r"^[A-Z][A-Za-z]*/[^\s:]+(:[^\s]+)?$"
_FIELD = "Intent/ran-du:spec.pools.shared"
_AT = "a document such as Intent/ran-du, or a field of it such as Intent/ran-du:spec.pools.shared"
_DAY = 'a day in quotes, such as "2027-03-31"'


class WaiverSpec(Model):
    """A warning that does not count at one place, until a day. Write one of `at` and `files`."""

    code: Annotated[str, matching(r"^CP[0-9]{3}$", "a code such as CP289", "CP289")] = Field(
        description="of the warning; no error is waived"
    )
    at: Annotated[str, matching(_PLACE, _AT, _FIELD)] | None = Field(
        default=None,
        description="the document, or a field with all below it; `validate -v` names that of a finding",
    )
    files: Annotated[str, Field(min_length=1, examples=["intents/lab-*.yaml"])] | None = Field(
        default=None,
        description="files of the project by name, relative to it; `*` stands for any text, slashes too",
    )
    reason: Annotated[str, matching(r"\S", "a reason in words", "change 4711")] = Field(
        description="why; it stands beside the finding"
    )
    expires: Annotated[str, matching(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", _DAY, "2027-03-31")] = Field(
        description="the last day (UTC); from the next one on the warning counts again"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Whether it has one place, and its day is in the calendar."""
        if (self.at is None) == (self.files is None):
            raise problem("waiver_place", "a mapping with one of at and files")
        try:
            date.fromisoformat(self.expires)
        except ValueError:
            text = "a mapping whose expires is a day of the calendar"
            raise problem("waiver_day", text) from None
        return self


class WaiversSpec(Model):
    """Warnings that somebody has looked at, and that do not count for a while."""

    waivers: Annotated[tuple[WaiverSpec, ...], Field(min_length=1), Listed] = Field(
        description="each of them"
    )
