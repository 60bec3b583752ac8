"""What failed last time: one small file a case file, in the user's cache.

``$XDG_CACHE_HOME/opcli/last-failed`` (``~/.cache/opcli/last-failed``), never beside the case files. A case file of
which nothing failed has no entry. The journal is a convenience: one that cannot be read or written is as good as
an empty one, and no run fails over it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ascend_opcli.casefile.inline import PATH as COMMAND_LINE
from ascend_opcli.casefile.loader import STDIN
from ascend_opcli.model import Case, Result, VerdictKind

MAX_BYTES = 2**24
FAILED = (VerdictKind.FAIL, VerdictKind.ERROR)

_FORMAT = "opcli.last-failed/1"
# Text that came another way may be another text next time.
_FLEETING = (STDIN, COMMAND_LINE)


def default_folder(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The journal's folder; None where the user has no home. A relative XDG_CACHE_HOME does not count."""
    given = environ.get("XDG_CACHE_HOME", "")
    if given and os.path.isabs(given):
        return Path(given, "opcli", "last-failed")
    try:
        return Path.home() / ".cache" / "opcli" / "last-failed"
    except RuntimeError:
        return None


class Journal:
    """Names of failed cases by case file. ``folder`` None remembers nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def failed(self, path: str) -> frozenset[str]:
        """The names of the cases of a file that failed when they were last run."""
        place = self._place(path)
        if place is None:
            return frozenset()
        try:
            with open(place, "rb") as stream:
                entry = json.loads(stream.read(MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return frozenset()
        fits = isinstance(entry, dict) and entry.get("format") == _FORMAT and entry.get("file") == _key(path)
        names = entry.get("cases") if fits else None
        return frozenset(n for n in names if isinstance(n, str)) if isinstance(names, list) else frozenset()

    def last_failed(self, cases: Iterable[Case]) -> Callable[[Case], bool] | None:
        """A test for the cases that failed last time; None where none of ``cases`` did."""
        cases = list(cases)
        names = {path: self.failed(path) for path in dict.fromkeys(case.path for case in cases)}

        def test(case: Case) -> bool:
            return case.name in names.get(case.path, ())

        return test if any(map(test, cases)) else None

    def record(self, results: Iterable[Result]) -> None:
        """Remember what failed and forget what did not; cases that were not run keep their entry."""
        ran: dict[str, dict[str, bool]] = {}
        for result in results:
            failed = result.verdict.word in FAILED
            ran.setdefault(result.case.path, {})[result.case.name] = failed
        for path, words in ran.items():
            before = self.failed(path)
            now = (before - words.keys()) | {name for name, failed in words.items() if failed}
            if now != before:
                with contextlib.suppress(OSError):
                    self._write(path, now)

    def _write(self, path: str, names: frozenset[str]) -> None:
        place = self._place(path)
        if place is None:
            return
        if not names:
            place.unlink(missing_ok=True)
            return
        text = json.dumps({"format": _FORMAT, "file": _key(path), "cases": sorted(names)}, indent=1)
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(temporary, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _place(self, path: str) -> Path | None:
        if self.folder is None or path in _FLEETING:
            return None
        digest = hashlib.sha256(_key(path).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.folder / f"{digest}.json"


def _key(path: str) -> str:
    """The absolute path, links resolved. Cases that follow from a contract have none and belong to the folder
    in which opcli runs."""
    return os.path.realpath(path)
