"""How many calls of CANN's public unit tests the contracts judge as the tests do.

    python benchmarks/unit_test_statuses.py FILE/ut_return_codes.json [--refused] [--missed]

The file lists calls with their tensors and the code that the test expects. It has no attributes, so a refusal that
only an attribute shows cannot be predicted; such calls count all the same. A call is mapped where its tensors can only
stand at one place each; the product is that of the test's SoC, else one that the documents list. A test declares its
tensors mostly in the order of the prototype: where another order of one operator is accepted more often, over all its
calls that are expected to be accepted, that order counts for all its calls.

Figures: calls expected to be accepted; all calls expected to give 161002, and those of which a tensor shows the cause
by the documents (a dtype or rank outside the list, elementwise shapes that do not fit); calls expected to give 161001,
whose null pointer may be any that is not optional. --refused prints every accepted call that opcli refuses, --missed
every call that is expected to be refused and is not.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ascend_opcli.model import Argument, Attribute, TensorSpec
from ascend_opcli.operators.arguments import broadcast_shape
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.operators.contract.rules import INVALID, NULLPTR
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import PRODUCTS, product
from ascend_opcli.operators.signature import Param
from ascend_opcli.tensors.dtypes import canonical
from ascend_opcli.tensors.layout import resolve

_TENSOR = re.compile(r"\{([^{}]*)\},\s*ACL_(\w+),\s*ACL_FORMAT_(\w+)")
_SOC = re.compile(r"ascend(?:310p|310b|910_93|910b|910|950)", re.IGNORECASE)
ARRANGEMENTS = 200
"""Ways to place the tensors of a call with null pointers that are tried at most."""

Placed = dict[str, Any]


@dataclass
class Figures:
    """Counts of calls; ``refused`` holds operator, test and rule of accepted calls that opcli refuses."""

    accepted: int = 0
    accepted_unmapped: int = 0
    as_accepted: int = 0
    refusals: int = 0
    refusals_unmapped: int = 0
    as_refused: int = 0
    other_status: int = 0
    visible: int = 0
    visible_refused: int = 0
    nulls: int = 0
    nulls_mapped: int = 0
    as_null: int = 0
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(default_factory=list)


def tensor(text: str) -> TensorSpec | None:
    """A tensor of the file; None where its dtype or a dimension is no value."""
    match = _TENSOR.match(text)
    try:
        dims = tuple(int(d) for d in match[1].split(",") if d.strip()) if match else ()
        dtype = canonical(match[2]) if match else ""
        strides, offset, storage, layout = resolve(dims)
    except ValueError:
        return None
    if match is None:
        return None
    return TensorSpec(dtype, dims, None, strides, offset, storage, layout, match[3])


def placed(params: Sequence[Param], specs: Sequence[TensorSpec], nulls: int) -> Placed | None:
    """Tensors by parameter, ``params`` in the order of the test; None where they could stand at several places."""
    lists = [p for p in params if p.is_list]
    if lists:
        rest = len(specs) - (len(params) - len(lists))
        if nulls or rest < len(lists) or rest % len(lists):
            return None
        made: Placed = {}
        left = list(specs)
        for p in params:
            count = rest // len(lists) if p.is_list else 1
            made[p.name] = tuple(left[:count]) if p.is_list else left[0]
            left = left[count:]
        return made if len(lists) == 1 or rest == len(lists) else None
    if len(specs) == len(params):
        return dict(zip([p.name for p in params], specs, strict=True))
    needed = [p for p in params if not p.optional]
    if len(specs) == len(needed):
        return dict.fromkeys((p.name for p in params), None) | dict(
            zip([p.name for p in needed], specs, strict=True)
        )
    return None


def order_of(operator: Operator, rows: Sequence[tuple[Sequence[TensorSpec], int, str]]) -> list[Param]:
    """The order of tensors under which most calls are accepted: the prototype's, or with one or two moved.

    ``rows`` are tensors, null pointers and product of the operator's calls that are expected to be accepted.
    """

    def accepted(params: Sequence[Param]) -> int:
        made = [(placed(params, specs, nulls), where) for specs, nulls, where in rows]
        return sum(
            m is not None and predict(operator, complete(operator, m), where) is None for m, where in made
        )

    best = [p for p in operator.signature.params if p.is_tensor]
    score = accepted(best)
    for _ in range(2):
        if score == len(rows):
            break
        for at, to in itertools.permutations(range(len(best)), 2):
            moved = [p for i, p in enumerate(best) if i != at]
            moved.insert(to, best[at])
            found = accepted(moved)
            if found > score:
                score, best = found, moved
    return best


def complete(operator: Operator, tensors: Mapping[str, Any]) -> dict[str, Argument]:
    """The tensors; the file has no attributes, so they stay unknown but where a contract written by hand reads them."""
    attributes = operator.signature.attributes if not operator.generic else ()
    ones = {p.name: Attribute((1,) if "Array" in p.type else 1) for p in attributes}
    return {**tensors, **ones}


def product_of(row: Mapping[str, Any], operator: Operator) -> str:
    """The product of the test's SoC where its record or its name has one."""
    named = [str(s).rsplit("::", 1)[-1] for s in row["soc"]] or _SOC.findall(row["test"])
    if named:
        return product(named[0])
    return next((p for p in ("atlas_a2", *PRODUCTS) if operator.supports(p)), "atlas_a2")


def shown(operator: Operator, tensors: Mapping[str, Any], *, shapes: bool = True) -> bool:
    """Whether a tensor shows a cause of refusal, by the documents and not by opcli's rules."""
    entry = catalogued.entry(operator.name)
    for documented in entry.params:
        spec = tensors.get(documented.param.name)
        spec = spec[0] if isinstance(spec, tuple) and spec else spec
        if not isinstance(spec, TensorSpec) or entry.generated_by:
            continue
        if documented.dtypes and spec.dtype not in documented.dtypes:
            return True
        if documented.ranks and not documented.ranks[0] <= len(spec.shape) <= documented.ranks[1]:
            return True
    if shapes and operator.elementwise and operator.generic:
        found = {n: s.shape for n, s in tensors.items() if isinstance(s, TensorSpec)}
        inputs = [found[p.name] for p in operator.signature.inputs if p.name in found]
        shape = broadcast_shape(*inputs)
        return shape is None or any(found.get(p.name, shape) != shape for p in operator.signature.outputs)
    return False


def with_null(operator: Operator, specs: Sequence[TensorSpec], params: Sequence[Param]) -> Iterator[Placed]:
    """Every way in which a call with these tensors has a pointer null that must not be: one left out, or replaced."""
    names = [p.name for p in params]
    needed = [p.name for p in operator.signature.params if p.is_pointer and not p.optional]
    if len(specs) == len(params):
        whole = complete(operator, dict(zip(names, specs, strict=True)))
        yield from ({**whole, name: None} for name in needed)
        return
    for kept in itertools.islice(itertools.combinations(names, len(specs)), ARRANGEMENTS):
        made = dict.fromkeys(names, None) | dict(zip(kept, specs, strict=True))
        if any(made.get(name, "") is None for name in needed) and not shown(operator, made, shapes=False):
            yield complete(operator, made)


@dataclass(frozen=True)
class Test:
    """One call of the file; ``specs`` is None where a dtype or a dimension is no value."""

    row: Mapping[str, Any]
    operator: Operator
    specs: Sequence[TensorSpec] | None

    @property
    def codes(self) -> set[int]:
        return set(self.row["expected"])

    @property
    def product(self) -> str:
        return product_of(self.row, self.operator)


def tests_of(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Test, list[Param]]]:
    """The calls of documented operators, each with the order of its operator's tensors."""
    by_name: dict[str, list[Test]] = {}
    for row in rows:
        try:
            operator = find(row["operator"])
        except UnknownOperator:
            continue
        specs = [tensor(text) for text in row["tensors"]]
        known = [s for s in specs if s is not None]
        by_name.setdefault(operator.name, []).append(
            Test(row, operator, known if len(known) == len(specs) else None)
        )
    for tests in by_name.values():
        taken = [
            (t.specs, t.row["null_args"], t.product) for t in tests if t.codes == {0} and t.specs is not None
        ]
        params = order_of(tests[0].operator, taken)
        yield from ((test, params) for test in tests)


def figures(rows: Sequence[Mapping[str, Any]]) -> Figures:
    """The counts over the calls of the file."""
    made = Figures()
    for test, params in tests_of(rows):
        operator, specs = test.operator, test.specs
        if test.codes == {NULLPTR}:
            _nulls(made, test, params)
            continue
        tensors = placed(params, specs, test.row["null_args"]) if specs is not None else None
        if tensors is None:
            made.accepted_unmapped += test.codes == {0}
            made.refusals_unmapped += test.codes == {INVALID}
            continue
        verdict = predict(operator, complete(operator, tensors), test.product)
        if test.codes == {0}:
            made.accepted += 1
            made.as_accepted += verdict is None
            if verdict is not None:
                why = verdict.rule if isinstance(verdict, Refusal) else verdict.reason
                made.refused.append((operator.name, test.row["test"], why))
        elif test.codes == {INVALID}:
            refused = isinstance(verdict, Refusal)
            made.refusals += 1
            made.as_refused += isinstance(verdict, Refusal) and verdict.status == INVALID
            made.other_status += isinstance(verdict, Refusal) and verdict.status != INVALID
            visible = shown(operator, tensors)
            made.visible += visible
            made.visible_refused += visible and refused
            if not refused:
                made.missed.append((operator.name, test.row["test"]))
    return made


def _nulls(made: Figures, test: Test, params: Sequence[Param]) -> None:
    made.nulls += 1
    specs = test.specs
    if specs is None or any(p.is_list for p in params) or len(specs) > len(params):
        return
    calls = list(with_null(test.operator, specs, params))
    if not calls:
        return
    made.nulls_mapped += 1
    verdicts = [predict(test.operator, arguments, test.product) for arguments in calls]
    right = all(isinstance(v, Refusal) and v.status == NULLPTR for v in verdicts)
    made.as_null += right
    if not right:
        made.missed.append((test.operator.name, test.row["test"]))


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="ut_return_codes.json")
    parser.add_argument("--refused", action="store_true", help="print the accepted calls that opcli refuses")
    parser.add_argument("--missed", action="store_true", help="print the refused calls that opcli accepts")
    options = parser.parse_args()
    made = figures(json.loads(options.file.read_text("utf-8")))

    def share(part: int, whole: int) -> str:
        return f"{part}  {100 * part / max(whole, 1):.1f} %"

    print(f"calls expected to be accepted  {made.accepted} mapped, {made.accepted_unmapped} not")
    print(f"  accepted                     {share(made.as_accepted, made.accepted)}")
    print(f"calls expected to give 161002  {made.refusals} mapped, {made.refusals_unmapped} not")
    print(f"  161002                       {share(made.as_refused, made.refusals)}")
    print(f"  another refusal              {made.other_status}")
    print(f"  a tensor shows the cause     {made.visible}, of these refused {made.visible_refused}")
    print(f"calls expected to give 161001  {made.nulls_mapped} mapped, {made.nulls - made.nulls_mapped} not")
    print(f"  161001                       {share(made.as_null, made.nulls_mapped)}")
    for line in made.refused if options.refused else ():
        print("refused:", *line, sep="  ")
    for missed in made.missed if options.missed else ():
        print("missed:", *missed, sep="  ")


if __name__ == "__main__":
    main()
