"""The document of warnings that do not count for a while: Waivers (pydantic)."""

from datetime import date
from typing import Annotated, Self

from pydantic import Field, model_validator

from cpuplan.language.model.base import Model, matching, problem
from cpuplan.language.model.document import Listed, NonEmptyLine, Place, Reason

_DAY = 'a day in quotes, such as "2027-03-31"'


class WaiverSpec(Model):
    """A warning that does not count at one place until a day. Write either `at` or `files`."""

    code: Annotated[str, matching(r"^CP[0-9]{3,4}$", "a code such as CP289", "CP289")] = Field(
        description="code of the warning; an error cannot be waived"
    )
    at: Place | None = Field(
        default=None,
        description="the document, or a field with everything below it; `validate -v` shows the "
        "field of a finding",
    )
    files: NonEmptyLine | None = Field(
        default=None,
        description="files of the project by name, relative to it; `*` matches any text, "
        "including slashes",
        examples=["intents/lab-*.yaml"],
    )
    reason: Reason = Field(
        description="the reason; it is shown with the finding", examples=["change 4711"]
    )
    expires: Annotated[str, matching(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", _DAY, "2027-03-31")] = Field(
        description="the last day (UTC); from the next day on, the warning counts again"
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
    """Warnings that were reviewed and do not count for a while."""

    waivers: Annotated[tuple[WaiverSpec, ...], Field(min_length=1), Listed] = Field(
        description="the waivers"
    )
