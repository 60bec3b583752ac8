"""Places of equal elements: whichever a kernel names is right, and every wrong one is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_calls import arguments, tensor

from ascend_opcli.model import Attribute, Case, Outcome, StandardChoice, Verdict, VerdictKind, Where
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.verification.verdict import judge_outputs

POOL = {"kernelSize": (2,), "stride": (2,), "padding": (0,), "dilation": (1,), "ceilMode": False}
# The operator, its attributes, and the outputs of values and of places.
CALLS: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "aclnnSort": ({"stable": False, "dim": 1, "descending": True}, "valuesOut", "indicesOut"),
    "aclnnArgsort": ({"dim": 1, "descending": False}, None, "out"),
    "aclnnTopk": ({"k": 9, "dim": 1, "largest": True, "sorted": True}, "valuesOut", "indicesOut"),
    "aclnnKthvalue": ({"k": 5, "dim": 1, "keepdim": True}, "valuesOut", "indicesOut"),
    "aclnnMedianDim": ({"dim": 1, "keepDim": False}, "valuesOut", "indicesOut"),
    "aclnnNanMedianDim": ({"dim": 1, "keepDim": True}, "valuesOut", "indicesOut"),
    "aclnnMaxDim": ({"dim": 1, "keepdim": False}, "out", "indices"),
    "aclnnMinDim": ({"dim": 1, "keepdim": True}, "out", "indices"),
    "aclnnArgMax": ({"dim": 1, "keepdim": False}, None, "out"),
    "aclnnArgMin": ({"dim": 1, "keepdim": True}, None, "out"),
    "aclnnCummax": ({"dim": 1}, "valuesOut", "indicesOut"),
    "aclnnCummin": ({"dim": 1}, "valuesOut", "indicesOut"),
    "aclnnMaxPool2dWithIndices": (POOL, "out", "indices"),
    "aclnnMaxPool3dWithArgmax": (POOL, "out", "indices"),
    "aclnnAdaptiveMaxPool2d": ({"outputSize": (2, 2)}, "outputOut", "indicesOut"),
    "aclnnAdaptiveMaxPool3d": ({"outputSize": (2, 1, 2)}, "outputOut", "indicesOut"),
}
ORDERED = ("aclnnSort", "aclnnArgsort", "aclnnTopk")
POOLS = [name for name in CALLS if "Pool" in name]


class Called:
    """A call with many equal elements: seven in a row of 40, or a pooled plane of three values."""

    def __init__(self, name: str, seed: int = 0, **changes: Any) -> None:
        attributes, self.values, self.places = CALLS[name]
        shape = {"2d": (2, 3, 4, 6), "3d": (2, 2, 2, 4, 6)}.get(name[-2:], (6, 40))
        shape = {"es": (2, 3, 4, 6), "ax": (2, 2, 2, 4, 6)}.get(name[-2:], shape) if name in POOLS else shape
        self.x = np.random.default_rng(seed).integers(0, 3 if name in POOLS else 7, shape).astype(np.float64)
        if name in POOLS and name.endswith("Argmax"):
            attributes = {**attributes, "kernelSize": (1, 2, 2), "stride": (1, 2, 2), "padding": (0, 0, 0)}
        self.operator = find(name)
        given = {n: Attribute(v) for n, v in {**attributes, **changes}.items()}
        bound = arguments(self.operator, self=tensor("float32", self.x), **given)
        self.call = make_call(
            Case("c.yaml", "a", name, bound, Where("c.yaml", 1, 1)), self.operator.signature, "atlas_a2"
        )
        self.right = host_result(self.operator, self.call)

    def judged(self, standard: StandardChoice | None = None, **changed: Any) -> Verdict:
        outputs: dict[str, Any] = {**self.right, **changed}
        case = Case("c.yaml", "a", self.operator.name, {}, Where("c.yaml", 1, 1), standard=standard)
        truth = golden(self.operator, self.call)
        return judge_outputs(case, self.operator, self.call, Outcome("device", outputs=outputs), truth)

    def word(self, places: np.ndarray) -> VerdictKind:
        return self.judged(**{self.places: places.astype(self.right[self.places].dtype)}).word

    def other(self) -> np.ndarray:
        """The right places of a kernel that walks the axis, or the plane, from its end."""
        places = self.right[self.places]
        if self.operator.name in POOLS:
            made = places.copy()
            flat = self.x.reshape(*self.x.shape[: -(places.ndim - 2)], -1)
            for at in np.ndindex(*places.shape):
                row = flat[at[:2]]
                for candidate in range(row.size):
                    if row[candidate] == row[places[at]] and self._in_window(at[2:], candidate):
                        made[at] = candidate
            return made
        rows = self.x
        if self.operator.name in ORDERED:
            down = -1 if self.operator.name != "aclnnArgsort" else 1
            n = rows.shape[1]
            made = n - 1 - np.argsort(down * rows[:, ::-1], axis=1, kind="stable")
            return made[:, : places.shape[1]]
        if "aclnnCum" in self.operator.name:
            values = self.right["valuesOut"]
            return np.argmax(rows[:, None, :] == values[:, :, None], axis=2)
        wide = places.reshape(len(rows), -1)
        value = np.take_along_axis(rows, wide.astype(np.int64), 1)
        return (rows.shape[1] - 1 - np.argmax((rows == value)[:, ::-1], axis=1)).reshape(places.shape)

    def _in_window(self, window: tuple[int, ...], place: int) -> bool:
        plane = self.x.shape[2:]
        counts = self.right[self.places].shape[2:]
        at = np.unravel_index(place, plane)
        # Windows of every call here share the axes evenly.
        return all(
            w * n // c <= p < -(-(w + 1) * n // c)
            for w, n, c, p in zip(window, plane, counts, at, strict=True)
        )


def test_every_operator_that_gives_places_is_tried() -> None:
    of_name = {
        name
        for name, op in operators().items()
        if any("indices" in p.name.lower() and p.io == "out" for p in op.signature.outputs)
    }
    # What it leaves for its backward operator differs between the products.
    of_name -= {"aclnnEmbeddingBag"}
    assert of_name | {"aclnnArgMax", "aclnnArgMin", "aclnnArgsort"} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_places_of_any_of_equal_elements_are_right(name: str) -> None:
    called = Called(name)
    other = called.other()
    assert (other != called.right[called.places]).any()
    assert called.word(other) is VerdictKind.PASS
    assert called.word(called.right[called.places]) is VerdictKind.PASS


@pytest.mark.parametrize("name", CALLS)
def test_wrong_places_are_found_and_shown(name: str) -> None:
    called = Called(name)
    places = called.right[called.places].astype(np.int64)
    size = int(np.prod(called.x.shape[2:])) if name in POOLS else called.x.shape[1]
    source = called.x.reshape(*called.x.shape[:2], -1) if name in POOLS else called.x[:, None, :]

    def values(at: np.ndarray) -> np.ndarray:
        flat = at.reshape(*source.shape[:-1], -1)
        return np.take_along_axis(source, np.clip(flat, 0, size - 1), -1)

    wrong = {
        "all 0": np.zeros_like(places),
        "off by one": (places + 1) % size,
        "of another slice": np.roll(places, 1, axis=0),
        "out of range": np.where(np.arange(places.size).reshape(places.shape) == 3, size, places),
        "below 0": np.where(np.arange(places.size).reshape(places.shape) == 3, places - size, places),
    }
    for what, made in wrong.items():
        named = {"out of range", "below 0"}
        assert what in named or (values(made) != values(places)).any(), what
        verdict = called.judged(**{called.places: made.astype(called.right[called.places].dtype)})
        assert verdict.word is VerdictKind.FAIL, what
        (report,) = (r for r in verdict.outputs if not r.passed)
        assert report.name == called.places
        assert "any" in report.rule
        worst = report.worst[0]
        assert worst.got == made[worst.index] != worst.golden


@pytest.mark.parametrize("name", ORDERED)
def test_no_place_stands_twice(name: str) -> None:
    called = Called(name)
    places = called.right[called.places].copy()
    row = called.x[0][places[0].astype(np.int64)]
    first = int(np.flatnonzero(row[1:] == row[:-1])[0])
    for one, other in ((first, first + 1), (first + 1, first)):
        twice = places.copy()
        twice[0, one] = places[0, other]
        assert called.word(twice) is VerdictKind.FAIL
    # Where the places of equal elements change places, each stands once.
    swapped = places.copy()
    swapped[0, [first, first + 1]] = places[0, [first + 1, first]]
    assert called.word(swapped) is VerdictKind.PASS


@pytest.mark.parametrize("name", POOLS)
def test_an_equal_element_outside_its_window_is_wrong(name: str) -> None:
    called = Called(name)
    places = called.right[called.places].astype(np.int64)
    flat = called.x.reshape(*called.x.shape[:2], -1)
    at = (0, 0, *[0] * (places.ndim - 2))
    same = [
        p
        for p in np.flatnonzero(flat[0, 0] == flat[0, 0][places[at]])
        if not called._in_window(at[2:], int(p))
    ]
    places[at] = same[0]
    assert called.word(places) is VerdictKind.FAIL


@pytest.mark.parametrize("name", ["aclnnCummax", "aclnnCummin"])
def test_a_running_extreme_does_not_stand_ahead(name: str) -> None:
    called = Called(name)
    places = called.right["indicesOut"].copy()
    row = called.x[0]
    last = called.right["valuesOut"][0, -1]
    first, *_, later = np.flatnonzero(row == last)
    places[0, first] = later  # equal, and behind
    assert called.word(places) is VerdictKind.FAIL


def test_a_stable_sort_leaves_no_choice() -> None:
    called = Called("aclnnSort", stable=True)
    assert called.word(called.other()) is VerdictKind.FAIL


@settings(max_examples=25)
@given(st.integers(0, 99), st.booleans(), st.booleans())
def test_an_unsorted_topk_is_a_set_with_its_places(seed: int, largest: bool, in_order: bool) -> None:
    called = Called("aclnnTopk", seed, sorted=in_order, largest=largest)
    shuffle = np.random.default_rng(seed).permutation(9)
    values, places = (called.right[n][:, shuffle] for n in ("valuesOut", "indicesOut"))
    together = called.judged(valuesOut=values, indicesOut=places)
    moved = bool((values != called.right["valuesOut"]).any())
    assert (together.word is VerdictKind.PASS) == (not in_order or not moved)
    if in_order or not moved:
        return
    assert called.judged(indicesOut=places).word is VerdictKind.FAIL  # each place has another's value
    assert called.judged(valuesOut=values).word is VerdictKind.FAIL
    lost = values.copy()
    lost[0, 0] = -1 if largest else 7
    assert called.judged(valuesOut=lost, indicesOut=places).word is VerdictKind.FAIL


@pytest.mark.parametrize("standard", ["exact", "bits", "md5", "dual", "ecosystem", "assert_close"])
def test_the_choice_is_free_under_every_standard(standard: str) -> None:
    called = Called("aclnnTopk")
    made = called.judged(StandardChoice(standard), indicesOut=called.other())
    assert made.word is VerdictKind.PASS
    zeros = np.zeros_like(called.right["indicesOut"])
    assert called.judged(StandardChoice(standard), indicesOut=zeros).word is VerdictKind.FAIL


@pytest.mark.parametrize("name", CALLS)
def test_an_empty_batch_has_nothing_wrong(name: str) -> None:
    called = Called(name)
    empty = tensor("float32", np.zeros((0, *called.x.shape[1:])))
    given = {n: a for n, a in called.call.arguments.items() if isinstance(a, Attribute)}
    bound = arguments(called.operator, self=empty, **given)
    case = Case("c.yaml", "a", name, bound, Where("c.yaml", 1, 1))
    called.call = make_call(case, called.operator.signature, "atlas_a2")
    called.right = host_result(called.operator, called.call)
    assert called.judged().word is VerdictKind.PASS


def test_a_nan_stands_at_any_nan() -> None:
    called = Called("aclnnArgMax")
    x = called.x.copy()
    x[:, [3, 8]] = np.nan
    bound = arguments(called.operator, self=tensor("float32", x), dim=1, keepdim=False)
    case = Case("c.yaml", "a", "aclnnArgMax", bound, Where("c.yaml", 1, 1))
    called.call = make_call(case, called.operator.signature, "atlas_a2")
    assert called.word(np.full(6, 8)) is VerdictKind.PASS
    assert called.word(np.full(6, 4)) is VerdictKind.FAIL
