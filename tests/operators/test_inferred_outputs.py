"""An output that a case leaves out has the dtype and shape that its operator takes."""

from __future__ import annotations

import pytest
from operator_calls import tensor

from ascend_opcli.model import Argument, Attribute, Fill, Shape
from ascend_opcli.operators import catalog

MEAN = Attribute(1)


def spec(dtype: str, *shape: int, format: str = "ND") -> Argument:
    return tensor(dtype, Fill(1), shape, format=format)


def inferred(op: str, output: str, **given: Argument) -> tuple[str, Shape]:
    operator = catalog.find(op)
    arguments: dict[str, Argument] = {p.name: None for p in operator.signature.params}
    arguments |= {n: Attribute(v) for n, v in {**operator.sample_attributes, **operator.defaults}.items()}
    return operator.infer_output(output, arguments | given)


PAIR = {"self": spec("float16", 3, 4), "target": spec("float32", 3, 4)}


@pytest.mark.parametrize(
    ("op", "output", "given", "want"),
    [
        # The operators' own checks: a reduced out has no axis, a gradient the broadcast of all three inputs.
        ("mse_loss", "out", {**PAIR, "reduction": MEAN}, ("float32", ())),
        ("soft_margin_loss", "out", {**PAIR, "reduction": MEAN}, ("float32", ())),
        ("l1_loss", "out", {**PAIR, "reduction": MEAN}, ("float32", ())),
        ("mse_loss", "out", {**PAIR, "reduction": Attribute(0)}, ("float32", (3, 4))),
        # Documented with one axis at least, and not checked otherwise.
        ("mse_loss_out", "out", {**PAIR, "reduction": MEAN}, ("float32", (1,))),
        ("smooth_l1_loss", "result", {**PAIR, "reduction": MEAN}, ("float32", (1,))),
        (
            "mse_loss_backward",
            "out",
            {**PAIR, "gradOutput": spec("float16", 2, 1, 4)},
            ("float32", (2, 3, 4)),
        ),
        (
            "l1_loss_backward",
            "gradInput",
            {**PAIR, "gradOutput": spec("float16", 2, 1, 4)},
            ("float32", (2, 3, 4)),
        ),
        (
            "smooth_l1_loss_backward",
            "gradInput",
            {**PAIR, "gradOut": spec("float16", 2, 1, 4)},
            ("float32", (2, 3, 4)),
        ),
        ("soft_margin_loss_backward", "out", {**PAIR, "gradOutput": spec("float16", 1)}, ("float32", (3, 4))),
        (
            "kl_div_target_backward",
            "gradTarget",
            {**PAIR, "gradOutput": spec("float16")},
            ("float32", (3, 4)),
        ),
        ("binary_cross_entropy_with_logits", "out", {**PAIR, "reduction": MEAN}, ("float32", ())),
        ("abs", "out", {"self": spec("complex64", 4)}, ("float32", (4,))),
        ("abs", "out", {"self": spec("int32", 4)}, ("int32", (4,))),
        (
            "polar",
            "out",
            {"input": spec("float32", 1, 4), "angle": spec("float32", 3, 1)},
            ("complex64", (3, 4)),
        ),
        (
            "complex",
            "out",
            {"real": spec("float64", 4), "imag": spec("float64", 3, 1)},
            ("complex128", (3, 4)),
        ),
        ("rms_norm_quant_v3", "rstd", {"x": spec("float16", 2, 3, 4)}, ("float32", (2, 3, 1))),
        ("batch_norm_reduce", "sum", {"x": spec("float16", 1, 2, 3, 4, format="NHWC")}, ("float32", (4,))),
        ("batch_norm_reduce", "sum", {"x": spec("float16", 1, 2, 3, 4, format="NCHW")}, ("float32", (2,))),
        (
            "group_norm_silu",
            "meanOut",
            {"self": spec("float16", 2, 6, 5), "gamma": spec("float32", 6), "group": Attribute(3)},
            ("float32", (2, 3)),
        ),
        # int32 holds eight int4 of the last axis.
        ("ascend_quant_v3", "y", {"x": spec("float16", 2, 16), "dstType": Attribute(3)}, ("int32", (2, 2))),
        (
            "dynamic_quant_v2",
            "yOut",
            {"x": spec("float16", 2, 16), "dstType": Attribute(3)},
            ("int32", (2, 2)),
        ),
        ("ascend_anti_quant", "y", {"x": spec("int32", 2, 2), "dstType": Attribute(1)}, ("float16", (2, 16))),
        (
            "repeat_interleave_grad",
            "out",
            {"yGrad": spec("float32", 2, 6), "repeats": spec("int64", 3), "axis": Attribute(1)},
            ("float32", (2, 3)),
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_an_operator_demands_of_its_output_is_inferred(
    op: str, output: str, given: dict[str, Argument], want: tuple[str, Shape]
) -> None:
    assert inferred(op, output, **given) == want
