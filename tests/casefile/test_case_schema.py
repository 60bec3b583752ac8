"""``opcli cases schema``: what the loader takes the schema takes, over shipped files and thousands of broken ones."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from ascend_opcli.casefile import keys, tree, yaml_text
from ascend_opcli.casefile.open import load_text
from ascend_opcli.casefile.schema import document
from ascend_opcli.casefile.show import flow
from ascend_opcli.errors import CaseFileError
from ascend_opcli.operators.catalog import find
from ascend_opcli.status.codes import all_codes
from ascend_opcli.tensors.dtypes import canonical, spellings
from ascend_opcli.verification.standards.choice import check_for
from ascend_opcli.verification.standards.named import STANDARDS
from tests.conftest import ROOT, CaseFile, Opcli

SHIPPED = sorted((ROOT / "cases").glob("*.yaml"))
BLOCKS = [
    text
    for name in ("README.md", "docs/case-files.md", "docs/dumps.md")
    for text in re.findall(r"```yaml\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
]


def validator(op: str | None = None) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(document(STANDARDS, find(op) if op else None))


ANY = validator()
LOGIT, ELU = validator("logit_grad"), validator("elu_backward")


def plain(text: str) -> Any:
    node = yaml_text.parse(text, "x.yaml")
    assert node is not None
    return tree.plain(node)


def refusal(document_: Any) -> str:
    """The loader's sentence, empty where it takes the document."""
    try:
        load_text(flow(document_), str(ROOT / "cases" / "x.yaml"), check_standard=check_for)
    except CaseFileError as error:
        return error.message
    return ""


# --- what is good -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [None, "logit_grad", "add", "foreach_add_list", "aclnnMlaProlog"])
def test_it_is_a_schema(op: str | None) -> None:
    jsonschema.Draft202012Validator.check_schema(document(STANDARDS, find(op) if op else None))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_files_are_valid(path: Any) -> None:
    found = plain(path.read_text("utf-8"))
    ANY.validate(found)
    validator(found["op"]).validate(found)


@pytest.mark.parametrize("text", BLOCKS)
def test_files_of_the_documents_are_valid(text: str) -> None:
    ANY.validate(plain(text))


def test_the_command_prints_what_is_checked_here(opcli: Opcli) -> None:
    assert json.loads(opcli("cases", "schema").out) == json.loads(json.dumps(document(STANDARDS)))
    done = opcli("cases", "schema", "--op", "logit_grad")
    assert done.code == 0
    assert json.loads(done.out)["$defs"]["attrs"]["properties"].keys() == {"eps"}


def test_an_editor_is_offered_every_key_and_what_it_means() -> None:
    made = document(STANDARDS)
    assert set(made["$defs"]["case"]["properties"]) == set(keys.LEVELS["a case"])
    assert set(made["properties"]) == set(keys.LEVELS["the file"])
    assert set(made["$defs"]["expect"]["properties"]) == set(keys.LEVELS["expect"])
    assert "aclnnAdd" in json.dumps(made["$defs"]["operator"])
    own = document(STANDARDS, find("logit_grad"))["$defs"]
    assert set(own["inputs"]["properties"]) == {"x", "dy"}
    assert set(own["outputs"]["properties"]) == {"out"}
    assert "bfloat16" in own["inputs"]["properties"]["x"]["description"]


def test_an_operator_of_ones_own(opcli: Opcli) -> None:
    text = "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *a, double b, aclTensor *out)"
    done = opcli("cases", "schema", "--op", "aclnnMine", "--signature", text)
    assert set(json.loads(done.out)["$defs"]["inputs"]["properties"]) == {"a"}
    assert opcli("cases", "schema", "--signature", text).code == 2
    wrong = opcli("cases", "schema", "--op", "aclnnAd")
    assert wrong.code == 2
    assert "did you mean 'aclnnAdd'?" in wrong.err


@pytest.mark.parametrize("word", [*spellings(), "FP16", "torch.half", "ACL_FLOAT", "np.int32", " bf16 "])
def test_every_spelling_of_a_dtype_is_valid(word: str) -> None:
    canonical(word)
    ANY.validate({"cases": [{"op": "add", "dtype": word, "shape": [4]}]})


@pytest.mark.parametrize("word", ["atlas_a2", "Ascend910B1", "ASCEND950", "Atlas_A3", "ascend910_9391"])
def test_every_product_and_soc_is_valid(word: str) -> None:
    ANY.validate({"op": "add", "product": word, "cases": [{"dtype": "float32", "shape": [4]}]})


# --- what is broken ---------------------------------------------------------------------------------------------

RICH = {
    "opcli": 1,
    "x-home": {"a": 1},
    "op": "logit_grad",
    "description": "All keys.",
    "product": "atlas_a2",
    "standard": "allclose",
    "seed": 3,
    "tags": ["smoke"],
    "defaults": {"attrs": {"eps": -1.0}},
    "cases": [
        {"name": "short", "dtype": "float32", "shape": [4, 4], "repeat": 2, "deterministic": 1},
        {
            "name": "long",
            "inputs": {
                "x": {
                    "dtype": "float16",
                    "shape": [2, 3],
                    "layout": "padded",
                    "format": "ND",
                    "data": {"uniform": [0.0, 1.0], "specials": ["nan", 0.5]},
                },
                "dy": {
                    "dtype": "float16",
                    "shape": [2, 3],
                    "strides": [3, 1],
                    "offset": 0,
                    "data": [1, 2, 3, 4, 5, 6],
                },
            },
            "attrs": {"eps": 0.25},
            "outputs": {"out": {"dtype": "float16", "shape": [2, 3], "layout": "transposed"}},
            "expect": {"standard": {"out": {"ulp": {"max": 2}}}, "outputs": {"out": "ignore"}},
            "only": {"product": ["atlas_a2"], "backend": "host", "cann": ">=8.5"},
            "known_issue": {"reason": "a reason", "expires": "2030-01-31"},
        },
        {
            "name": "sweep",
            "matrix": {"dtype": ["float16", "float32"], "eps": [-1.0, 0.01]},
            "zip": {"shape": [[4], [2, 2]], "lo": [0.0, 0.25]},
            "exclude": [{"dtype": "float16", "eps": 0.01}],
            "dtype": "$dtype",
            "shape": "$shape",
            "inputs": {"x": {"data": {"uniform": ["$lo", 0.5]}}, "dy": {"data": {"choice": [1, 2]}}},
            "attrs": {"eps": "$eps"},
        },
        {
            "name": "refused",
            "inputs": {"x": None, "dy": {"dtype": "float32", "shape": [4], "data": 1.0}},
            "expect": {"status": {"code": 161001, "phase": 1, "message": "null"}},
        },
    ],
}
SCALARS = {
    "op": "elu_backward",
    "cases": [
        {
            "dtype": "float16",
            "shape": [3, 4],
            "attrs": {
                "alpha": {"value": 0.5, "dtype": "float16"},
                "scale": 1.0,
                "inputScale": 2,
                "isResult": False,
            },
            "inputs": {"gradOutput": {"layout": "transposed"}, "selfOrResult": {"data": {"normal": [0, 1]}}},
            "expect": {"status": "ACLNN_SUCCESS", "standard": "ecosystem"},
        }
    ],
}
VALUES = (
    None,
    True,
    0,
    3,
    -1,
    1.5,
    2**70,
    "word",
    "$nope",
    [],
    [1],
    ["a"],
    [[1], 2],
    [-1],
    {},
    {"a": 1},
    {"uniform": [0, 1]},
)

# What no schema of one file can see: names of a matrix, merging, numbers of values against shapes, bounds against each
# other, the numbers of a standard, the names of return codes.
SEMANTIC = re.compile(
    r"""
    \$\w+\ has\ no\ entry | unknown\ name\ in\ exclude | (zip|matrix)\.\w+\ is\ never\ used
    | a\ case\ of\ \w+\ gives\ dtype\ and\ shape | \w+\ has\ no\ \w+(,\ \w+)*\ here
    | \w+\ needs\ a\ dtype\ and\ a\ shape | \w+\ has\ no\ value: | known_issue\ needs | expect\.status\ needs
    | [\w.]+\ is\ ragged | [\w.]+\ has\ \d+\ values?, | \w+:\ \d+\ specials\ do\ not\ fit
    | [\w.]+\ takes\ one\ generator,\ here\ is\ none | \w+:\ uniform\ needs\ lo\ <=\ hi
    | \w+:\ normal\ needs\ a\ standard | \w+:\ strides\ \[.*\]\ has
    | a\ (special|number\ of\ choice)\ must\ be\ a\ number,\ not\ a\ list | \w+\ must\ be\ a\ number,\ not\ a\ list
    | a\ standard\ is\ one\ name | standard\ 'ulp'\ has\ no\ number | 'max'\ of\ standard | unknown\ return\ code
    """,
    re.VERBOSE,
)


EXPANDED = re.compile("'(matrix|zip|exclude)', ")
"""Values that stand for something elsewhere: only the loader knows where."""


def mutants(base: Any) -> Iterator[tuple[str, Any]]:
    """The document with one value replaced or one key misspelt."""
    for path in paths(base):
        for value in VALUES:
            made = copy.deepcopy(base)
            put(made, path, value)
            yield f"{path} = {value!r}", made
        if path and isinstance(path[-1], str):
            made = copy.deepcopy(base)
            parent = at(made, path[:-1])
            parent[path[-1] + "x"] = parent.pop(path[-1])
            yield f"{path} misspelt", made


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*before, key)
        yield from paths(item, (*before, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    at(value, path[:-1])[path[-1]] = copy.deepcopy(new)


@pytest.mark.parametrize(("base", "own"), [(RICH, LOGIT), (SCALARS, ELU)], ids=["rich", "scalars"])
def test_the_loader_and_the_schema_agree(base: Any, own: jsonschema.Draft202012Validator) -> None:
    assert refusal(base) == ""
    ANY.validate(base)
    own.validate(base)
    seen = Counter[str]()
    wrong: list[str] = []
    for what, made in mutants(base):
        said = refusal(made)
        particular = own.is_valid(made)
        seen["taken" if not said else "refused"] += 1
        seen["seen by the schema"] += bool(said) and not particular
        if not said and not (particular and ANY.is_valid(made)):
            wrong.append(f"only the schema refuses: {what}")
        elif said and particular and not EXPANDED.search(what) and not SEMANTIC.match(said):
            wrong.append(f"the schema does not see: {what}: {said}")
    assert wrong == []
    assert seen["refused"] > 300
    assert seen["taken"] > 50
    assert seen["seen by the schema"] > 0.6 * seen["refused"]


def test_a_misspelt_parameter_is_seen_with_op() -> None:
    made = {"op": "logit_grad", "cases": [{"dtype": "float32", "shape": [4], "attrs": {"esp": 1.0}}]}
    assert ANY.is_valid(made)
    assert not LOGIT.is_valid(made)
    assert "did you mean 'eps'?" in refusal(made)


def test_known_return_codes_are_valid_and_others_not() -> None:
    for code in all_codes():
        for word in (code.code, code.name):
            ANY.validate({"op": "add", "cases": [{"expect": {"status": word}}]})
    assert not ANY.is_valid({"op": "add", "cases": [{"expect": {"status": 161999}}]})


def test_new_files_are_valid(opcli: Opcli, case_file: CaseFile) -> None:
    for suite in ("smoke", "boundary", "ecosystem"):
        text = opcli("cases", "new", "layer_norm", "--suite", suite, "--max-elements", 64, "--pairwise").out
        ANY.validate(plain(text))
        validator("layer_norm").validate(plain(text))
