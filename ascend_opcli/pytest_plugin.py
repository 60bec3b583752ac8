"""Case files as pytest items: ``pytest cases/`` runs every case, with node ids PATH::CASE.

pytest loads this module in every run of an environment in which opcli is installed. So it imports nothing but pytest
until there is a case file to collect, and takes a YAML file for one only where it begins like one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ascend_opcli.errors import OpcliError
    from ascend_opcli.execution.request import OpenRun, Request
    from ascend_opcli.model import Case, Result

SUFFIXES = (".yaml", ".yml")
BEGINNING = 1 << 16
"""Bytes of a YAML file that are looked at."""

BACKEND = "opcli_backend"
"""The property of a report, in JUnit XML too, that says what executed the call."""

# Top-level keys as opcli's own files have them: at the beginning of a line, in block style.
_VERSION = re.compile(r"^(?:opcli|'opcli'|\"opcli\")[ \t]*:[ \t]+\d+[ \t]*(?:#.*)?$", re.MULTILINE)
_KEY = re.compile(r"^([A-Za-z_][\w-]*|'\w+'|\"\w+\")[ \t]*:(?=\s|$)", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of case files."""
    group = parser.getgroup("opcli", "Ascend operator case files (opcli)")
    group.addoption(
        "--opcli", action="store_true", help="Take every *.yaml and *.yml in the given paths for a case file."
    )
    group.addoption(
        "--opcli-backend",
        choices=("auto", "host", "device"),
        default="auto",
        help="What executes the calls (default auto).",
    )
    group.addoption(
        "--opcli-product",
        metavar="NAME",
        help="Whose contract the host applies to cases that name none (default atlas_a2).",
    )
    group.addoption(
        "--opcli-standard",
        metavar="NAME[:K=V]",
        help="Judge every case by this standard, as opcli run --standard does.",
    )
    group.addoption(
        "--opcli-device",
        metavar="N",
        type=_whole,
        default=0,
        help="The device's number (default 0); with pytest-xdist the first worker's, the others take those after it.",
    )
    group.addoption(
        "--opcli-opp", metavar="DIR", type=Path, help="An operator package whose symbols go first."
    )
    group.addoption(
        "--opcli-timeout",
        metavar="SECONDS",
        type=_seconds,
        default=60.0,
        help="How long a case may take on a device (default 60).",
    )
    group.addoption(
        "--opcli-allow-code",
        action="store_true",
        help="Let cases run a reference that is code: file.py:function, golden.py.",
    )


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def _seconds(text: str) -> float:
    if not 0.001 <= float(text) <= 1e9:
        raise ValueError(text)
    return float(text)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse wrong words in options before anything is run."""
    if config.option.opcli_product is not None or config.option.opcli_standard is not None:
        _request(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    """A case file, or nothing."""
    if file_path.suffix.lower() not in SUFFIXES:
        return None
    if not parent.config.option.opcli and not begins_like_a_case_file(file_path):
        return None
    return CaseFile.from_parent(parent, path=file_path)


def begins_like_a_case_file(path: Path) -> bool:
    """Whether a YAML file has, in its first 64 KiB and not indented, ``opcli: NUMBER``, or ``op`` and ``cases``.

    A mistyped ``cases`` beside ``op`` counts: such a file is to be an error and not to be passed over.
    """
    try:
        with path.open("rb") as file:
            data = file.read(BEGINNING)
    except OSError:
        return False
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if utf16 else "utf-8-sig", "ignore")
    text = text.replace("\r", "\n")
    if _VERSION.search(text):
        return True
    found = {key.strip("'\"") for key in _KEY.findall(text)}
    if "op" not in found:
        return False
    if "cases" in found:
        return True
    from ascend_opcli.errors import nearest

    return nearest("cases", found) is not None


class CaseFile(pytest.File):
    """A case file. One that cannot be read is one collection error."""

    def collect(self) -> Iterable[CaseItem]:
        """An item a case, in the order of the file."""
        from ascend_opcli.errors import OpcliError, visible

        try:
            cases = _request(self.config, [self._shown()]).named.cases
        except OpcliError as error:
            raise self.CollectError(visible(str(error))) from None
        return [CaseItem.from_parent(self, name=case.name, case=case) for case in cases]

    def _shown(self) -> str:
        """The path as a repro line should have it: from where pytest was called, unless that leads outside."""
        try:
            shown = os.path.relpath(self.path)
        except ValueError:  # another drive
            return str(self.path)
        return str(self.path) if shown.startswith("..") else shown


class CaseItem(pytest.Item):
    """One case. FAIL is a failure, ERROR an error, SKIP skipped, KNOWN an expected failure."""

    def __init__(self, *, case: Case, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.extra_keyword_matches.update(case.tags)
        self._result: Result | None = None
        self.reason = ""

    def setup(self) -> None:
        """Run the case. It is run here because pytest calls an error what goes wrong before the test itself."""
        from ascend_opcli.errors import OpcliError, visible
        from ascend_opcli.model import VerdictKind
        from ascend_opcli.reporting.details import detail_lines

        self._result, self.reason = None, ""
        if self.config.getoption(
            "setuponly", False
        ):  # --setup-plan too: what would be run is shown, and nothing is
            return
        try:
            result = _runner(self.config).run(self.case)
        except OpcliError as error:
            self.reason = visible(" ".join(str(error).split()))
            pytest.fail(visible(f"ERROR {self.case.id}\n  {error}"), pytrace=False)
        self.user_properties[:] = [p for p in self.user_properties if p[0] != BACKEND]
        self.user_properties.append((BACKEND, result.backend))
        self.reason = visible(result.verdict.reason)
        if result.verdict.word is VerdictKind.ERROR:
            pytest.fail("\n".join(detail_lines(result)), pytrace=False)
        self._result = result

    def runtest(self) -> None:
        """Say what became of it."""
        from ascend_opcli.errors import visible
        from ascend_opcli.model import VerdictKind
        from ascend_opcli.reporting.details import detail_lines
        from ascend_opcli.reporting.wording import note_text

        result = self._result
        if result is None:
            pytest.fail(f"{self.case.id} was not run", pytrace=False)
        word, reason = result.verdict.word, self.reason
        said = [text for text in (note_text(result), *result.verdict.notes) if text]
        if said and word is VerdictKind.PASS:  # elsewhere they are part of what is said
            self.add_report_section("call", "opcli", visible("\n".join(said)))
        if word is VerdictKind.SKIP:
            skipped = pytest.skip.Exception(reason)
            skipped._use_item_location = True  # the line of the case, not this one
            raise skipped
        if word is VerdictKind.KNOWN and not self.config.option.runxfail:
            pytest.xfail(reason)
        if word in (VerdictKind.FAIL, VerdictKind.KNOWN):
            pytest.fail("\n".join(detail_lines(result)), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file, the line counted from 0, and a title."""
        # Where a node id ends in its title, pytest -v writes :: for every dot in it.
        return self.path, self.case.where.line - 1, f"{self.path.name}: {self.name}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """In pytest's short summary of a failure or an error its reason, not the first line of the report."""
    outcome = yield
    if isinstance(item, CaseItem) and call.excinfo is not None:
        crash = getattr(outcome.get_result().longrepr, "reprcrash", None)
        if crash is not None and item.reason and isinstance(call.excinfo.value, pytest.fail.Exception):
            crash.message = item.reason
            crash.path, crash.lineno = str(item.path), item.case.where.line


class _Runner:
    """The backend, opened for the first case and closed when pytest ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._request = _request(config)
        self._stack = ExitStack()
        self._opened: dict[bool, OpenRun | OpcliError] = {}
        config.add_cleanup(self._stack.close)

    def run(self, case: Case) -> Result:
        """Run and judge one case. Raises OpcliError where no case can be run."""
        from ascend_opcli.errors import OpcliError

        given = bool(case.got) and not self._request.settings.rerun
        if given not in self._opened:
            try:
                self._opened[given] = self._stack.enter_context(self._request.opened(idle=given))
            except OpcliError as error:
                self._opened[given] = error
        opened = self._opened[given]
        if isinstance(
            opened, OpcliError
        ):  # a device that could not be opened is not tried again for every case
            raise opened
        return opened.result(case)


def _device(config: pytest.Config) -> int:
    """The device's number: under xdist each worker takes the next one, in turns where there are fewer."""
    first: int = config.option.opcli_device
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    if not worker:
        return first
    from ascend_opcli.backends.cann.driver import visible_devices

    there = visible_devices(os.environ) - first
    return first + int(worker.removeprefix("gw")) % there if there > 0 else first


_KEPT = pytest.StashKey[_Runner]()


def _runner(config: pytest.Config) -> _Runner:
    if _KEPT not in config.stash:
        config.stash[_KEPT] = _Runner(config)
    return config.stash[_KEPT]


def _request(config: pytest.Config, paths: Sequence[str] = ()) -> Request:
    """What the options ask for. Raises pytest.UsageError for a wrong word."""
    from ascend_opcli.execution.request import Request
    from ascend_opcli.execution.runner import Settings
    from ascend_opcli.execution.target import TargetRequest
    from ascend_opcli.operators.products import product
    from ascend_opcli.verification.standards import named

    option = config.option
    try:
        home = product(option.opcli_product) if option.opcli_product is not None else None
    except ValueError as error:
        raise pytest.UsageError(f"--opcli-product: {error}") from None
    try:
        choice = named.parse(option.opcli_standard) if option.opcli_standard is not None else None
    except ValueError as error:
        raise pytest.UsageError(f"--opcli-standard: {error}") from None
    wanted = TargetRequest(option.opcli_backend, _device(config), option.opcli_opp, option.opcli_timeout)
    settings = Settings(
        product=home,
        standard=choice,
        rerun=option.opcli_backend != "auto",
        allow_code=option.opcli_allow_code,
    )
    return Request(paths, wanted=wanted, settings=settings)


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """``PASSED (host)``: a host run executes no operator and says so."""
    if report.when == "call" and report.passed and _on_host(report):
        return "passed", ".", "PASSED (host)"
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Where the cases were judged on the host, that no operator was run."""
    reports = (report for found in terminalreporter.stats.values() for report in found)
    on_host = {report.nodeid for report in reports if _on_host(report)}
    if on_host:
        cases = "1 case was" if len(on_host) == 1 else f"{len(on_host):,} cases were"
        terminalreporter.write_line(f"opcli: no operator was run: {cases} judged on the host")


def _on_host(report: Any) -> bool:
    # pytest keeps its warnings beside the reports; those of xdist come with lists for tuples.
    return (BACKEND, "host") in map(tuple, getattr(report, "user_properties", ()))
