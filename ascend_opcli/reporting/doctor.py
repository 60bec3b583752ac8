"""The doctor's findings, for people and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence

from ascend_opcli import __version__
from ascend_opcli.backends.cann.finding import Finding
from ascend_opcli.backends.cann.selftest_requests import Checked
from ascend_opcli.reporting.escape import in_json
from ascend_opcli.reporting.selftest import checked_record


def finding_lines(
    findings: Sequence[Finding], ready: bool, operators: Mapping[str, bool] | None = None
) -> Iterator[str]:
    """One line a finding, the fix below what needs one, the conclusion last.

    ``operators`` says of those that were asked for whether they are there.
    """
    width = max(len(f.what) for f in findings)
    for finding in findings:
        yield f"{finding.state:<7}  {finding.what:<{width}}  {finding.found}"
        if finding.fix:
            yield f"{'':<7}  {'':<{width}}  fix: {finding.fix}"
    yield ""
    absent = [name for name, there in (operators or {}).items() if not there]
    if ready and absent:
        yield f"device runs will work, but not of {', '.join(absent)}"
    elif ready:
        yield "device runs will work, and host runs too"
    else:
        yield "host runs will work; device runs will not until what is missing is mended"


def dump_findings(
    findings: Sequence[Finding],
    ready: bool,
    operators: Mapping[str, bool] | None = None,
    checked: Sequence[Checked] | None = None,
) -> str:
    """The findings under the schema opcli.doctor/1, with the self-test where there was one."""
    document = {
        "schema": "opcli.doctor/1",
        "device": ready,
        "host": True,
        "operators": dict(operators or {}),
        "findings": [dataclasses.asdict(f) for f in findings],
    }
    if checked is not None:
        document["opcli"] = __version__
        document["self_test"] = [checked_record(one) for one in checked]
    return in_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"
