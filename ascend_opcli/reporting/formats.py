"""The report formats of a run, by the name of their option; each is one function in a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ascend_opcli.reporting import acceptance, csv_report, html, issue_report, json_report, junit, markdown
from ascend_opcli.reporting.finished import FinishedRun

FORMATS: Mapping[str, Callable[[FinishedRun], Iterable[str]]] = {
    "json": json_report.render,
    "csv": csv_report.render,
    "junit": junit.render,
    "markdown": markdown.render,
    "html": html.render,
    "acceptance": acceptance.render,
    "issue": issue_report.render,
}
