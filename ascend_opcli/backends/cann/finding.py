"""What the doctor finds."""

from __future__ import annotations

from dataclasses import dataclass

OK, NOTE, MISSING = "ok", "note", "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: ok, a note, or missing with the line that mends it.

    ``operator`` names the operator that it is about; what is missing then is that operator, not the device.
    """

    state: str
    what: str
    found: str
    fix: str = ""
    operator: str = ""
