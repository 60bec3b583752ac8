"""The doctor's findings, for people and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

from ascend_opcli.backends.cann.doctor import Finding


def finding_lines(findings: Sequence[Finding], ready: bool) -> Iterator[str]:
    """One line a finding, the fix below what needs one, the conclusion last."""
    width = max(len(f.what) for f in findings)
    for finding in findings:
        yield f"{finding.state:<7}  {finding.what:<{width}}  {finding.found}"
        if finding.fix:
            yield f"{'':<7}  {'':<{width}}  fix: {finding.fix}"
    yield ""
    if ready:
        yield "device runs will work, and host runs too"
    else:
        yield "host runs will work; device runs will not until what is missing is mended"


def dump_findings(findings: Sequence[Finding], ready: bool) -> str:
    """The findings under the schema opcli.doctor/1."""
    rows = [dataclasses.asdict(f) for f in findings]
    document = {"schema": "opcli.doctor/1", "device": ready, "host": True, "findings": rows}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
