"""The document of warnings that do not count for a while: Waivers (pydantic)."""

from datetime import date
from typing import Annotated

from cpuplan.model import Field, Model, problem
from cpuplan.model.document import Listed

_PLACE = r"^[A-Z][A-Za-z]*/[^\s:]+(:[^\s]+)?$"
_FIELD = "Intent/ran-du:spec.pools.shared"
_AT = "a document such as Intent/ran-du, or a field of it such as Intent/ran-du:spec.pools.shared"
_DAY = 'a day in quotes, such as "2027-03-31"'


class WaiverSpec(Model):
    """A warning that does not count at one place, until a day. Write one of `at` and `files`."""

    code: Annotated[
        str, Field(pattern=r"^CP[0-9]{3}$", form="a code such as CP289", examples=["CP289"])
    ] = Field(description="of the warning; no error is waived")
    at: Annotated[str, Field(pattern=_PLACE, form=_AT, examples=[_FIELD])] | None = Field(
        default=None,
        description="the document, or a field with all below it; `validate -v` names that of a finding",
    )
    files: Annotated[str, Field(min_length=1, examples=["intents/lab-*.yaml"])] | None = Field(
        default=None,
        description="files of the project by name, relative to it; `*` stands for any text, slashes too",
    )
    reason: Annotated[
        str, Field(pattern=r"\S", form="a reason in words", examples=["change 4711"])
    ] = Field(description="why; it stands beside the finding")
    expires: Annotated[
        str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", form=_DAY, examples=["2027-03-31"])
    ] = Field(description="the last day (UTC); from the next one on the warning counts again")

    def verify(self) -> None:
        """Whether it has one place, and its day is in the calendar."""
        if (self.at is None) == (self.files is None):
            raise problem("waiver_place", "a mapping with one of at and files")
        try:
            date.fromisoformat(self.expires)
        except ValueError:
            raise problem(
                "waiver_day", "a mapping whose expires is a day of the calendar"
            ) from None


class WaiversSpec(Model):
    """Warnings that somebody has looked at, and that do not count for a while."""

    waivers: Annotated[tuple[WaiverSpec, ...], Listed, Field(min_length=1)] = Field(
        description="each of them"
    )
