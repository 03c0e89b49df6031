"""The document of warnings that do not count for a while: Waivers (pydantic)."""

from datetime import date
from typing import Annotated

from cpuplan.document import Listed
from cpuplan.model import Field, Model, problem


class WaiverSpec(Model):
    """A warning that does not count at one place, until a day. Write one of `at` and `files`."""

    code: str = Field(pattern=r"^CP[0-9]{3}$", examples=["CP289"], description="of the warning; no error is waived")
    at: Annotated[
        str | None, Field(pattern=r"^[A-Z][A-Za-z]*/[^\s:]+(:[^\s]+)?$", examples=["Intent/ran-du:spec.pools.shared"])
    ] = Field(
        default=None,
        description="the document, or a field with all below it; `validate -v` names the field of a finding",
    )
    files: str | None = Field(
        default=None,
        min_length=1,
        description="files of the project by name, relative to it; `*` stands for any text, slashes too",
    )
    reason: str = Field(pattern=r"\S", examples=["change 4711"], description="why; it stands beside the finding")
    expires: str = Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        examples=['"2027-03-31"'],
        description="the last day, in quotes (UTC); from the next one on the warning counts again",
    )

    def verify(self) -> None:
        """Whether it has one place, and its day is in the calendar."""
        if (self.at is None) == (self.files is None):
            raise problem("waiver_place", "a mapping with one of at and files")
        try:
            date.fromisoformat(self.expires)
        except ValueError:
            raise problem("waiver_day", "a mapping whose expires is a day of the calendar") from None


class WaiversSpec(Model):
    """Warnings that somebody has looked at, and that do not count for a while."""

    waivers: Annotated[tuple[WaiverSpec, ...], Listed, Field(min_length=1)] = Field(description="each of them")
