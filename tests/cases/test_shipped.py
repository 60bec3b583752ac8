"""The shipped case files: every case passes on the host, and says why where it could not show a fault."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from ascend_opcli.casefile.negatives import ordinary_case
from ascend_opcli.casefile.open import load_file
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import Case, Result, TensorSpec, VerdictKind
from ascend_opcli.operators.catalog import operators
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT, PRODUCTS
from ascend_opcli.reference.resolve import resolve as operator_named
from ascend_opcli.verification.standards.choice import check_for

ROOT = Path(__file__).parents[2]
# Those with a contract of their own; the families' operators have tests/operators/test_family_*.py.
NAMES = sorted(operator.short_name for operator in operators().values() if not operator.generic)
TAGS = {"smoke", "boundary", "refusal", "layout", "sweep", "documented", "bench"}

PRINTED = {
    "logit_grad": {"documented-example": {"out": (11.1111, 12.5, 14.2857, 16.6667)}},
    "elu_backward": {"documented-example": {"gradInput": (2, 0, 0, 1)}},
    "batch_norm_elemt_backward": {
        "documented-example": {"gradInput": (0, 0.9, 1.8, 2.7, 3.6, 4.5, 5.4, 6.3)}
    },
    "threshold_backward": {"documented-example": {"out": (0, 4.4, 4.3, 4.2)}},
    "amp_update_scale": {
        "documented-example": {"updatedScale": (65536,), "updatedGrowthTracker": (901,)},
        "documented-growth": {"updatedScale": (131072,), "updatedGrowthTracker": (0,)},
        "documented-found-inf": {"updatedScale": (32768,), "updatedGrowthTracker": (0,)},
    },
}


def path_of(name: str) -> Path:
    return ROOT / "cases" / f"{name}.yaml"


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[Case, ...]]:
    return {name: tuple(load_file(str(path_of(name)), check_standard=check_for).cases) for name in NAMES}


@pytest.fixture(scope="module")
def results(cases: dict[str, tuple[Case, ...]]) -> dict[str, list[Result]]:
    return {name: list(run_cases(cases[name], Settings())) for name in NAMES}


def test_every_operator_with_its_own_contract_has_a_file() -> None:
    assert sorted(path.stem for path in (ROOT / "cases").glob("*.yaml")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_case_passes(name: str, results: dict[str, list[Result]]) -> None:
    assert [
        (r.case.id, r.verdict.reason) for r in results[name] if r.verdict.word is not VerdictKind.PASS
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_weak_case_says_so(name: str, results: dict[str, list[Result]]) -> None:
    weak = [r for r in results[name] if any(output.weak for output in r.verdict.outputs)]
    assert [r.case.id for r in weak if "WEAK" not in r.case.description] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_branch_that_is_not_reached_is_explained(name: str, results: dict[str, list[Result]]) -> None:
    silent = []
    for result in results[name]:
        counts = [branch.count for output in result.verdict.outputs for branch in output.branches]
        explained = re.search(r"\bbranch(es)?\b|\breached\b", result.case.description)
        if any(counts) and 0 in counts and not explained:
            silent.append(result.case.id)
    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_every_branch_is_reached_somewhere(name: str, results: dict[str, list[Result]]) -> None:
    reached: dict[str, int] = {}
    for result in results[name]:
        for branch in (b for output in result.verdict.outputs for b in output.branches):
            reached[branch.name] = reached.get(branch.name, 0) + branch.count
    assert all(reached.values())


@pytest.mark.parametrize("name", NAMES)
def test_tags(name: str, cases: dict[str, tuple[Case, ...]], results: dict[str, list[Result]]) -> None:
    assert {tag for case in cases[name] for tag in case.tags} <= TAGS
    assert [case.id for case in cases[name] if not case.tags] == []
    assert [case.id for case in cases[name] if ("refusal" in case.tags) != (case.status is not None)] == []
    smoke = [r for r in results[name] if "smoke" in r.case.tags]
    assert {r.case.status is None for r in smoke} == {True, False}
    # Well under a second on an ordinary machine; this bound only keeps large cases out.
    largest = max(_elements(r.case) for r in smoke)
    assert largest <= 8192
    assert len(smoke) <= 200


def _elements(case: Case) -> int:
    return max((a.count for a in case.arguments.values() if isinstance(a, TensorSpec)), default=0)


@pytest.mark.parametrize("name", NAMES)
def test_documented_examples_expect_the_printed_values(name: str, cases: dict[str, tuple[Case, ...]]) -> None:
    found = {case.name: case for case in cases[name]}
    for example, outputs in PRINTED[name].items():
        case = found[example]
        assert "documented" in case.tags
        for output, values in outputs.items():
            data = case.expected_outputs[output]
            written = data.values if hasattr(data, "values") else (data.value,)
            assert tuple(written) == values


@pytest.mark.parametrize("name", NAMES)
def test_sizes_around_the_edges_are_there(name: str, cases: dict[str, tuple[Case, ...]]) -> None:
    if name == "amp_update_scale":
        pytest.skip("the operator takes one element")
    shapes = {
        dim
        for case in cases[name]
        for a in case.arguments.values()
        if isinstance(a, TensorSpec)
        for dim in a.shape
    }
    edges = (
        40,
        1024,
        3072,
        6144,
        8192,
        64,
        128,
    )  # elements, cores; 256 and 512 bytes of float32, 256 of float16
    assert {edge + d for edge in edges for d in (-1, 0, 1)} <= shapes
    layouts = {
        a.layout
        for case in cases[name]
        for a in case.arguments.values()
        if isinstance(a, TensorSpec) and a.data
    }
    assert {"transposed", "reversed", "padded", "strided"} <= layouts


# --- refusals -----------------------------------------------------------------------------------------------------


def _broken(operator: Operator, case: Case) -> tuple[int, str] | None:
    """The number of the first rule that a case breaks, and its sentence."""
    product = case.product or DEFAULT_PRODUCT
    for number, rule in enumerate(operator.contract):
        sentence = rule.broken(case.arguments, product)
        if sentence is not None:
            return number, sentence
    return None


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_of_the_contract_refuses_a_case(name: str, results: dict[str, list[Result]]) -> None:
    """Each rule, for each parameter that it speaks of."""
    operator = operator_named(name)
    said: dict[int, list[str]] = {number: [] for number in range(len(operator.contract))}
    for result in results[name]:
        broken = _broken(operator, result.case)
        assert (broken is None) == (result.case.status is None), result.case.id
        if broken is not None:
            assert (result.message, result.status) == (broken[1], operator.contract[broken[0]].status)
            said[broken[0]].append(broken[1])
    missing = []
    for number, rule in enumerate(operator.contract):
        words = {""}
        for product in PRODUCTS:
            base = ordinary_case(operator, product)
            for variation in rule.breaks(base.arguments, product) if base is not None else ():
                word = variation.product or variation.label.split("=")[0]
                if variation.product or word in {p.name for p in operator.signature.params}:
                    words.add(word)
        missing += [(rule.text(), word) for word in words if not any(word in s for s in said[number])]
    assert missing == []


# --- the command line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_command_exits_with_0(name: str, opcli) -> None:
    done = opcli("run", path_of(name), "--backend", "host")
    assert done.code == 0, done.out[-2000:]


@pytest.mark.parametrize("name", NAMES)
def test_repro_lines_give_the_same_inputs(name: str, results: dict[str, list[Result]], opcli) -> None:
    """A difference would be exit 2; what does not pass, 1."""
    small = [r for r in results[name] if _elements(r.case) <= 1024]
    for result in small[:: max(1, len(small) // 12)]:
        words = shlex.split(result.repro)
        assert words[:2] == ["opcli", "run"]
        if result.inputs_sha256:
            assert words[-2:] == ["--inputs-sha256", result.inputs_sha256]
        assert opcli(*words[1:], "--backend", "host").code == 0, result.repro


@pytest.mark.parametrize("name", NAMES)
def test_names_are_words_and_the_file_is_readable(name: str) -> None:
    text = path_of(name).read_text("utf-8")
    written = yaml.safe_load(text)
    assert written["description"]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case["name"]) for case in written["cases"])
    assert max(map(len, text.splitlines())) <= 140
