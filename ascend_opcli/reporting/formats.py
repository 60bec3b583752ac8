"""The report formats of a run and of a timing: one row each. The row is the option of the command line too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """``--name FILE`` with its help, and the function of ``reporting/`` that yields the text: ``module`` or
    ``module:function``, ``render`` where none is named."""

    name: str
    help: str
    source: str

    def render(self, run: Any) -> Iterable[str]:
        """The text of a report of what has finished."""
        module, _, function = self.source.partition(":")
        text: Iterable[str] = getattr(
            import_module(f"ascend_opcli.reporting.{module}"), function or "render"
        )(run)
        return text


OF_RUN = (
    ReportFormat("json", "Write the run as JSON; - is stdout.", "json_report"),
    ReportFormat("csv", "Write a table, one row an output.", "csv_report"),
    ReportFormat("junit", "Write JUnit XML, for CI systems.", "junit"),
    ReportFormat("markdown", "Write a summary for a pull request or CI page.", "markdown"),
    ReportFormat("html", "Write one HTML page with pictures.", "html"),
    ReportFormat("acceptance", "Write what an operator contribution hands in.", "acceptance"),
    ReportFormat("issue", "Write a bug report on what failed.", "issue_report"),
)
"""Takes a FinishedRun."""

OF_BENCH = (
    ReportFormat("json", "Write Google Benchmark's JSON; - is stdout.", "bench_files:google"),
    ReportFormat("csv", "Write one row a case.", "bench_files:table"),
    ReportFormat("markdown", "Write the table for a pull request.", "bench_files:summary"),
    ReportFormat("html", "Write one page with log-log plots.", "bench_files:html"),
)
"""Takes a FinishedBench."""
