"""How many calls of CANN's public unit tests the contracts judge as the tests do.

    python benchmarks/unit_test_statuses.py FILE/ut_return_codes.json [--refused]

The file lists calls with their tensors and the code that the test expects; scalars are not in it. A call is mapped
where its tensors can only stand at one place each; the product is that of the test's SoC, else one that the documents
list. Figures: calls expected to be accepted, by the documented lists alone and with opcli's corrections of them; calls
expected to be refused whose cause a tensor shows: a dtype or rank outside the documented list, a null pointer,
elementwise shapes that do not fit. --refused prints every accepted call that opcli refuses.
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
from ascend_opcli.operators import catalogued
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.contract import INVALID, NULLPTR, Refusal, predict
from ascend_opcli.operators.operator import Operator, broadcast_shape
from ascend_opcli.operators.products import PRODUCTS, product
from ascend_opcli.tensors.dtypes import canonical
from ascend_opcli.tensors.layout import resolve

_TENSOR = re.compile(r"\{([^{}]*)\},\s*ACL_(\w+),\s*ACL_FORMAT_(\w+)")
_SOC = re.compile(r"ascend(?:310p|310b|910_93|910b|910|950)", re.IGNORECASE)


@dataclass
class Figures:
    """Counts of calls; ``refused`` holds operator, test and rule of accepted calls that opcli refuses."""

    accepted: int = 0
    accepted_unmapped: int = 0
    by_lists: int = 0
    corrected: int = 0
    refusals: int = 0
    refusals_unmapped: int = 0
    refused_by_opcli: int = 0
    other_status: int = 0
    visible: int = 0
    visible_refused: int = 0
    nulls: int = 0
    nulls_visible: int = 0
    nulls_refused: int = 0
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


def placed(
    operator: Operator, specs: Sequence[TensorSpec], nulls: int
) -> dict[str, TensorSpec | tuple[TensorSpec, ...] | None] | None:
    """Tensors by parameter; None where they could stand at several places."""
    params = [p for p in operator.signature.params if p.is_tensor]
    lists = [p for p in params if p.is_list]
    if lists:
        rest = len(specs) - (len(params) - len(lists))
        if nulls or rest < len(lists) or rest % len(lists):
            return None
        made: dict[str, Any] = {}
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


def by_lists_alone(name: str) -> Operator:
    """The operator with the contract that the documented lists give, without corrections."""
    import dataclasses

    operator = find(name)
    if not operator.generic:
        return operator
    bare = catalogued.entry(name, corrected=False)
    return dataclasses.replace(operator, contract=catalogued.contract_of(bare))


def null_arrangements(operator: Operator, specs: Sequence[TensorSpec]) -> Iterator[dict[str, Any]]:
    """Every way in which these tensors fill the parameters, the rest null."""
    params = [p.name for p in operator.signature.params if p.is_tensor]
    for kept in itertools.combinations(params, len(specs)):
        yield dict.fromkeys(params, None) | dict(zip(kept, specs, strict=True))


def figures(rows: Sequence[Mapping[str, Any]]) -> Figures:
    """The counts over the calls of the file."""
    made = Figures()
    for row in rows:
        codes = set(row["expected"])
        try:
            operator = find(row["operator"])
        except UnknownOperator:
            continue
        specs = [tensor(text) for text in row["tensors"]]
        known = [s for s in specs if s is not None]
        whole = len(known) == len(specs)
        where = product_of(row, operator)
        tensors = placed(operator, known, row["null_args"]) if whole else None
        if codes == {NULLPTR}:
            _nulls(made, operator, known, whole, where)
        elif tensors is None:
            made.accepted_unmapped += codes == {0}
            made.refusals_unmapped += codes == {INVALID}
        elif codes == {0}:
            arguments = complete(operator, tensors)
            made.accepted += 1
            made.by_lists += predict(by_lists_alone(operator.name), arguments, where) is None
            verdict = predict(operator, arguments, where)
            made.corrected += verdict is None
            if verdict is not None:
                why = verdict.rule if isinstance(verdict, Refusal) else verdict.reason
                made.refused.append((row["operator"], row["test"], why))
        elif codes == {INVALID}:
            verdict = predict(operator, complete(operator, tensors), where)
            made.refusals += 1
            made.refused_by_opcli += isinstance(verdict, Refusal)
            made.other_status += isinstance(verdict, Refusal) and verdict.status != INVALID
            if shown(operator, tensors):
                made.visible += 1
                made.visible_refused += isinstance(verdict, Refusal)
                if not isinstance(verdict, Refusal):
                    made.missed.append((row["operator"], row["test"]))
    return made


def _nulls(made: Figures, operator: Operator, specs: list[TensorSpec], whole: bool, where: str) -> None:
    params = [p for p in operator.signature.params if p.is_tensor]
    missing = len(params) - len(specs)
    made.nulls += 1
    if not whole or any(p.is_list for p in params) or missing <= sum(p.optional for p in params):
        return
    made.nulls_visible += 1
    verdicts = [
        predict(operator, complete(operator, tensors), where)
        for tensors in itertools.islice(null_arrangements(operator, specs), 200)
    ]
    made.nulls_refused += all(isinstance(v, Refusal) and v.status == NULLPTR for v in verdicts)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="ut_return_codes.json")
    parser.add_argument("--refused", action="store_true", help="print the accepted calls that opcli refuses")
    options = parser.parse_args()
    made = figures(json.loads(options.file.read_text("utf-8")))
    share = 100 / max(made.accepted, 1)
    print(f"calls expected to be accepted  {made.accepted} mapped, {made.accepted_unmapped} not")
    print(f"  accepted by the lists alone  {made.by_lists}  {made.by_lists * share:.1f} %")
    print(f"  accepted with corrections    {made.corrected}  {made.corrected * share:.1f} %")
    print(f"calls expected to give 161002  {made.refusals} mapped, {made.refusals_unmapped} not")
    print(f"  refused                      {made.refused_by_opcli}, {made.other_status} with another status")
    print(f"  a tensor shows the cause     {made.visible}, of these refused {made.visible_refused}")
    print(f"calls expected to give 161001  {made.nulls}")
    print(f"  a tensor must be null        {made.nulls_visible}, of these 161001 {made.nulls_refused}")
    for line in made.refused if options.refused else ():
        print("refused:", *line, sep="  ")
    for missed in made.missed:
        print("missed:", *missed, sep="  ")


if __name__ == "__main__":
    main()
