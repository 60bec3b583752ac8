"""One call without a file, described on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ascend_opcli.casefile.inline import CallOptions


@dataclass(frozen=True)
class OneCall:
    """``--op`` and what describes its call."""

    op: Annotated[str | None, typer.Option("--op", help="One call without a file: the operator.")] = None
    dtype: Annotated[str | None, typer.Option("--dtype", help="Its dtype.")] = None
    shape: Annotated[str | None, typer.Option("--shape", help="Its shape: 16x3x171, 4,4 or scalar.")] = None
    attrs: Annotated[list[str] | None, typer.Option("--attr", metavar="K=V", help="An attribute.")] = None
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--in", metavar="X=SPEC", help="An input: x=null, x=float16[4,4]@transposed:uniform(0,1)."
        ),
    ] = None
    outputs: Annotated[
        list[str] | None, typer.Option("--out", metavar="Y=SPEC", help="An output: y=float32[4].")
    ] = None
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="STATUS", help="The status that is right.")
    ] = None

    def options(
        self, paths: Sequence[str], *, product: str | None, standard: str | None, seed: int | None
    ) -> CallOptions | None:
        """The call, None where ``paths`` name the cases. Raises UsageError where it is neither or both."""
        from ascend_opcli.casefile.inline import CallOptions

        described = {
            "--dtype": self.dtype,
            "--shape": self.shape,
            "--attr": self.attrs,
            "--in": self.inputs,
            "--out": self.outputs,
            "--expect": self.expect,
        }
        if not op_or_paths(self.op, paths, described, "describe one call", "run: name a case file, a folder"):
            return None
        assert self.op is not None
        return CallOptions(
            self.op,
            self.dtype,
            self.shape,
            self.attrs or (),
            self.inputs or (),
            self.outputs or (),
            self.expect,
            product,
            standard,
            seed,
        )


def op_or_paths(
    op: str | None, paths: Sequence[str], described: Mapping[str, object], what: str, nothing: str
) -> bool:
    """Whether ``--op`` is given and not paths. Raises UsageError where both or neither are, or options lack it."""
    if op is not None:
        if paths:
            raise UsageError("--op describes what is called; it does not go with a PATH")
        return True
    stray = [name for name, value in described.items() if value]
    if stray:
        raise UsageError(f"{', '.join(stray)} {what} and need --op NAME")
    if not paths:
        raise UsageError(f"nothing to {nothing}, or --op NAME")
    return False
