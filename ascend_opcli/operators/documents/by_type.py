"""Operators named by their type, ``ir:SquareSumAll``: a kernel with the names of its registration, no aclnn entry.

The parameters are the registration's inputs, attributes and outputs as they are spelled there. An output that has the
name of an input is that input, written in place. The contract is the registration's dtype columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ascend_opcli.operators.arguments import Arguments, first_spec
from ascend_opcli.operators.documents import registrations
from ascend_opcli.operators.documents.generic import Column, KernelColumns, columns_by_product
from ascend_opcli.operators.documents.registrations import KernelTensor, Registration
from ascend_opcli.operators.operator import TYPE, Default, Operator, OutputRule, broadcast, like
from ascend_opcli.operators.signature import POINTER_TYPES, Param, Signature

REFUSED = 500002
"""ACL_ERROR_GE_FAILURE: what compiling an operator returns that has no kernel for the dtypes."""


def is_type(name: str) -> bool:
    """Whether an operator is named by its type."""
    return name.lstrip().startswith(TYPE)


def names() -> tuple[str, ...]:
    """Every name that :func:`operator` knows."""
    return tuple(TYPE + kernel for kernel in registrations.names())


def leading(found: Sequence[Registration]) -> Registration:
    """The registration whose names count: not experimental and of a known SoC before the others."""
    return min(found, key=lambda one: (one.experimental, not one.socs))


@lru_cache(maxsize=256)
def operator(name: str) -> Operator:
    """The operator of ``ir:TYPE``, the type in any spelling of its letters' case. KeyError where there is none."""
    wanted = name.removeprefix(TYPE).strip()
    folded = {kernel.casefold(): kernel for kernel in registrations.names()}
    kernel = wanted if registrations.registrations(wanted) else folded[wanted.casefold()]
    every = registrations.registrations(kernel)
    main = leading(every)
    signature = Signature(TYPE + kernel, _params(main))
    # A registration with other parameters is another kernel; its columns say nothing of these.
    alike = [one for one in every if _params(one) == signature.params]
    tensors = tuple(p.name for p in signature.params if p.is_tensor)
    columns = columns_by_product(alike)
    return Operator(
        name=signature.name,
        signature=signature,
        reference=None,
        summary=f"The kernel {kernel} as {main.repository} registers it, called by its type.",
        products={p: True for one in alike for p in one.products},
        contract=(KernelColumns(tensors, columns, REFUSED),) if columns else (),
        generic=True,
        custom=True,
        defaults=_defaults(main),
        outputs=_outputs(signature, columns),
    )


def text(signature: Signature) -> str:
    """``SquareSumAll(x1, x2) -> (y1, y2)``: the parameters in the order of the registration."""
    given = ", ".join(p.name for p in signature.params if p.io != "out")
    made = ", ".join(p.name for p in signature.outputs)
    return f"{signature.name.removeprefix(TYPE)}({given}) -> ({made})"


def _params(registered: Registration) -> tuple[Param, ...]:
    written = {t.name for t in registered.outputs}
    own = {t.name for t in registered.inputs}
    made = [
        Param(t.name, t.type, "inout" if t.name in written else "in", t.way in ("optional", "dynamic"))
        for t in registered.inputs
    ]
    for attribute in registered.attributes:
        kind = "float" if attribute.type == "Float" else registrations.ATTRIBUTE_TYPES[attribute.type]
        optional = not attribute.required and kind in POINTER_TYPES
        made.append(Param(attribute.name, kind, "in", optional))
    made += [_output(t) for t in registered.outputs if t.name not in own]
    return tuple(made)


def _output(registered: KernelTensor) -> Param:
    return Param(registered.name, registered.type, "out", registered.way == "optional", const=False)


def _defaults(registered: Registration) -> dict[str, Default]:
    return {a.name: a.default for a in registered.attributes if a.default is not None}


def _outputs(signature: Signature, columns: dict[str, tuple[Column, ...]]) -> dict[str, OutputRule]:
    """The shape that the inputs broadcast to, the dtype of the first column that fits theirs."""
    inputs = [p.name for p in signature.inputs if not p.is_list]
    if not inputs:
        return {}
    shaped = broadcast(*inputs, dtype=inputs[0]) if len(inputs) > 1 else like(inputs[0])
    order = [p.name for p in signature.params if p.is_tensor]
    table = tuple(dict.fromkeys(column for part in columns.values() for column in part))

    def rule_of(output: str) -> OutputRule:
        def rule(arguments: Arguments) -> tuple[str, tuple[int, ...]] | None:
            made = shaped(arguments)
            if made is None:
                return None
            given = {n: spec.dtype for n in inputs if (spec := first_spec(arguments.get(n))) is not None}
            for column in table:
                cells = dict(zip(order, column, strict=True))
                if all(cells[n] == dtype for n, dtype in given.items()):
                    return cells[output], made[1]
            return made

        return rule

    return {p.name: rule_of(p.name) for p in signature.outputs if p.io == "out" and not p.is_list}
