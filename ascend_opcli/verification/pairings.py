"""What of a call's outputs is compared with what: every tensor with its golden, or what must hold of right choices."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ascend_opcli.errors import UsageError
from ascend_opcli.model import Call, Case, Fill, FromFile, Outcome, StandardChoice, TensorSpec, Values
from ascend_opcli.operators.declare.choices import Held, wide
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.choices import held
from ascend_opcli.reference.evaluate import Golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.tensors import files
from ascend_opcli.tensors.data import generate
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype, widen
from ascend_opcli.tensors.flat import Streamed
from ascend_opcli.tensors.written_values import literals, not_held
from ascend_opcli.verification.standards import selects
from ascend_opcli.verification.standards.choice import choose
from ascend_opcli.verification.standards.named import default_for

ARRAYS = (np.ndarray, Streamed)


@dataclass(frozen=True, slots=True)
class Pairing:
    """One thing to be judged: ``got`` against ``wanted``."""

    output: str
    """The output whose standard judges."""
    name: str
    """The name in the report."""
    spec: TensorSpec
    got: np.ndarray
    wanted: np.ndarray
    choice: StandardChoice
    explicit: bool = False
    """The golden is the case's own."""
    says: str = ""
    """The rule of an output that is defined up to a choice, empty for others."""
    written: np.ndarray | None = None

    @property
    def made(self) -> bool:
        """Whether it is made of outputs rather than one of them."""
        return self.name != self.output


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Outputs that are not judged, by name."""

    unknown: tuple[str, ...]
    """Without a reference."""
    undefined: tuple[str, ...]
    """Without a golden in this call."""
    ignored: tuple[str, ...]
    """As the case asks."""
    parts: tuple[str, ...] = ()
    """Those with some elements that are not judged, with the number of these."""
    remarks: tuple[str, ...] = ()
    """Sentences on what the case expects."""


def pairings(
    case: Case,
    operator: Operator,
    call: Call,
    outcome: Outcome,
    golden: Golden | None,
    override: StandardChoice | None,
) -> tuple[list[Pairing], Unjudged]:
    """What is to be judged, in the order of the outputs, and what is left out.

    Raises UsageError where the words of the standard ``selects`` do not fit the call.
    """
    plain: list[Pairing] = []
    unknown: list[str] = []
    undefined: list[str] = []
    ignored: list[str] = []
    parts: list[str] = []
    remarks: list[str] = []
    for name, spec, got, wanted in _members(call, outcome, golden):
        explicit = case.expected_outputs.get(name, case.expected_outputs.get(name.partition("[")[0]))
        if explicit == "ignore":
            ignored.append(name)
            continue
        if explicit is not None:
            try:
                wanted = expected_values(explicit, spec, name, spread=isinstance(got, Streamed))
            except ValueError as error:  # of a file that is damaged where no header tells
                raise ReferenceFailure(f"expect.outputs.{name}: {error}") from None
            remarks += _rounded_away(explicit, spec, name)
        if wanted is None:
            (unknown if golden is None else undefined).append(name)
            continue
        unsaid = golden.open.get(name) if golden is not None and explicit is None else None
        if unsaid is not None and isinstance(got, np.ndarray) and got.shape == wanted.shape == unsaid.shape:
            wanted = np.where(unsaid, wide(got), wanted)
            parts.append(f"{np.count_nonzero(unsaid):,} of {unsaid.size:,} elements of {name}")
        choice = choose(name, spec.dtype, case, operator.standard, override)
        written = outcome.written.get(name)
        plain.append(Pairing(name, name, spec, got, wanted, choice, explicit is not None, "", written))
    found = _held(plain, operator, call, outcome)
    asked: list[Pairing] = []
    for row in plain:
        own = [h for h in found if h.output == row.output and not (h.name and row.explicit)]
        asked += [_held_pairing(row, h) for h in own] or [row]
    return asked, Unjudged(tuple(unknown), tuple(undefined), tuple(ignored), tuple(parts), tuple(remarks))


def _held(plain: Sequence[Pairing], operator: Operator, call: Call, outcome: Outcome) -> list[Held]:
    """What must hold of outputs with a choice: what a standard ``selects`` says comes before the operator's own."""
    goldens = {row.output: row.wanted for row in plain}
    stated: list[Held] = []
    for row in plain:
        if row.choice.name == selects.NAME:
            why = selects.fault(row.choice, row.output, operator.signature, call.arguments, call.outputs)
            if why:
                raise UsageError(why)
            rule = selects.places(row.choice, row.output)
            stated += held(dataclasses.replace(operator, holds=rule), call, outcome.outputs, goldens)
    of = {h.output for h in stated}
    return [*stated, *(h for h in held(operator, call, outcome.outputs, goldens) if h.output not in of)]


def _held_pairing(row: Pairing, h: Held) -> Pairing:
    spec = dataclasses.replace(row.spec, dtype=h.dtype or row.spec.dtype, shape=np.shape(h.got))
    choice = row.choice
    if h.name or choice.name == "dual":
        # What is made of outputs lies around 0 and 1; and a third party has made its own choice.
        plain = default_for(spec.dtype)
        why = "made of outputs" if h.name else "defined up to a choice"
        told = f" ({choice.name} is not for what is {why})" if choice.name != plain.name else ""
        choice = dataclasses.replace(plain, origin=plain.origin + told)
    written = row.written
    if written is not None:
        written = written.reshape(-1)[: h.front] if h.front is not None else written
        written = written if written.shape == spec.shape and not h.dtype else None
    return dataclasses.replace(
        row,
        name=h.name or row.output,
        spec=spec,
        got=h.got,
        wanted=h.wanted,
        choice=choice,
        says=h.says,
        written=written,
    )


def _members(
    call: Call, outcome: Outcome, golden: Golden | None
) -> Iterator[tuple[str, TensorSpec, np.ndarray, np.ndarray | None]]:
    """Every output tensor with its golden; the members of a list as ``out[0]``, ``out[1]``."""
    for name, got in outcome.outputs.items():
        spec, wanted = call.outputs[name], golden.outputs.get(name) if golden is not None else None
        if isinstance(spec, TensorSpec) and isinstance(got, ARRAYS):
            yield name, spec, got, wanted if isinstance(wanted, ARRAYS) else None
        elif isinstance(spec, tuple) and isinstance(got, tuple):
            for i, member in enumerate(spec):
                yield f"{name}[{i}]", member, got[i], wanted[i] if isinstance(wanted, tuple) else None


def _rounded_away(data: object, spec: TensorSpec, name: str) -> list[str]:
    """What a report says of an expected value that an output of integers or bool cannot have."""
    written = data.values if isinstance(data, Values) else (data.value,) if isinstance(data, Fill) else ()
    if DTYPES[spec.dtype].kind in ("float", "complex") or (place := not_held(written, spec.dtype)) is None:
        return []
    value = literals(written[place : place + 1], spec.dtype)[0]
    return [
        f"{name}: the case expects {written[place]}, which is no value of {spec.dtype}: {value} is what counts"
    ]


def expected_values(data: object, spec: TensorSpec, name: str, *, spread: bool = False) -> np.ndarray:
    """Expected values as a golden: written numbers stay unrounded for floating outputs.

    With ``spread`` one number stands for all of them without taking their memory.
    """
    if spread and isinstance(data, Fill):
        one = dataclasses.replace(spec, shape=(1,), strides=(1,), storage_shape=(1,))
        return np.broadcast_to(expected_values(data, one, name)[0], spec.shape)
    kind = DTYPES[spec.dtype].kind
    if kind in ("float", "complex") and isinstance(data, Values):
        return np.asarray(data.values, np.complex128 if kind == "complex" else np.float64).reshape(spec.shape)
    if kind == "float" and isinstance(data, Fill):
        return np.full(spec.shape, data.value, np.float64)
    if kind == "float" and isinstance(data, FromFile) and not data.specials:
        stored = files.describe(data.path, data.key).dtype
        if stored in ("float64", "float32"):
            return files.read(data.path, data.key, stored, spec.shape).astype(np.float64).reshape(spec.shape)
    flat = generate(data, dtype=spec.dtype, shape=spec.shape, seed=0, name=name)  # type: ignore[arg-type]
    if kind == "float" and flat.dtype == numpy_dtype(spec.dtype):
        flat = widen(flat, np.float64)
    return flat.reshape(spec.shape)
