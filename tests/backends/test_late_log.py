"""CANN writes its log by a thread of its own: a line stands under its own case, however late it is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile
from tests.simulated_cann.build import CannRoot, env

CASES = """
    op: logit_grad
    defaults: {dtype: float32, shape: [64]}
    cases: [{name: a}, {name: b}, {name: c}]
"""


@pytest.mark.parametrize("how", [(), ("--in-process",)], ids=["worker", "in-process"])
def test_lines_of_the_log_stand_under_their_own_case(
    on_device: OnDevice, case_file: CaseFile, how: tuple[str, ...]
) -> None:
    fault = "aclnnLogitGrad:phase1=161002@1,text=first is wrong;aclnnLogitGrad:phase2=561002@2,text=second is wrong"
    # A user's own shell may have CANN print its log.
    printed = {} if how else {"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}
    ran = on_device(case_file(CASES), *how, leaks=True, SIM_CANN_FAULT=fault, **printed)
    log = {name: "\n".join(result["log"]) for name, result in ran.results.items()}
    assert "first is wrong" in log["a"]
    assert "second is wrong" in log["b"]
    assert "second" not in log["a"]
    assert "first" not in log["b"]
    assert log["c"] == ""


WITHOUT_FLUSH = """
    import sys
    from ascend_opcli.backends.cann.libraries import Libraries
    Libraries.flush_log = lambda self: False  # an older CANN
    from ascend_opcli.cli import main
    sys.argv = ["opcli", "run", sys.argv[1], "--in-process", "--json", sys.argv[2]]
    main()
"""


def test_an_older_cann_that_cannot_be_hurried_is_waited_for(
    cann: CannRoot, case_file: CaseFile, tmp_path: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment |= env(cann, environment)
    environment |= {"SIM_CANN_FAULT": "aclnnLogitGrad:phase1=161002@1,text=is wrong", "SIM_CANN_REPORT": ""}
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT_FLUSH), str(case_file(CASES)), str(report)],
        env=environment,
        check=False,
    )
    results = {r["name"]: r for r in json.loads(report.read_text())["results"]}
    assert "is wrong" in "\n".join(results["a"]["log"])
    assert results["b"]["log"] == []
