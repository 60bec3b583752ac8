"""The simulated headers have every public error name, so that a published program builds as it is."""

from __future__ import annotations

import re
from pathlib import Path

from ascend_opcli.status.codes import all_codes

ACL = Path(__file__).parent / "include/acl"


def test_the_headers_have_every_public_error_name() -> None:
    text = "\n".join(path.read_text() for path in ACL.rglob("*.h"))
    defined = {name: int(value) for name, value in re.findall(r"#define (ACL_\w+) (\d+)\n", text)}
    public = {n: c.code for c in all_codes() for n in (c.name, *c.aliases) if not n.startswith("ACLNN")}
    assert public.items() <= defined.items()
    assert defined["ACL_ERROR_FAILURE"] == 500001
