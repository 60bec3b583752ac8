"""Every mistake in a case file: one sentence, its place, the nearest right word."""

# One row, one line: the tables are read by column.
# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_opcli.casefile.open import load_file, load_text
from ascend_opcli.errors import CaseFileError, ExitCode, did_you_mean
from ascend_opcli.model import StandardChoice

STANDARDS = ("ecosystem", "ulp", "allclose", "exact", "bits")


def check(choice: StandardChoice, dtype: str | None) -> None:
    if choice.name not in STANDARDS:
        raise ValueError(f"unknown standard '{choice.name}'{did_you_mean(choice.name, STANDARDS)}")


def error_of(text: str, path: str = "f.yaml") -> str:
    with pytest.raises(CaseFileError) as caught:
        load_text(text, path, check_standard=check)
    assert caught.value.exit_code == ExitCode.USAGE
    message = str(caught.value)
    assert "\n" not in message
    return message


HEAD = "op: logit_grad\ncases:\n- "


def case_error(body: str, op: str = "logit_grad") -> str:
    """The error of one case that stands on line 3 from column 3."""
    return error_of(f"op: {op}\ncases:\n- {body}\n")


# --- the file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml:1:1: the file is empty; it needs op and cases"),
        ("# nothing\n", "f.yaml:1:1: the file is empty; it needs op and cases"),
        ("null\n", "f.yaml:1:1: the file is empty; it needs op and cases"),
        ("- a\n", "f.yaml:1:1: a case file must be a mapping, not a list"),
        ("hello\n", "f.yaml:1:1: a case file must be a mapping, not 'hello'"),
        ("op: logit_grad\n", "f.yaml:1:1: the file has no cases"),
        ("op: logit_grad\ncases: []\n", "f.yaml:2:8: cases is empty"),
        ("op: logit_grad\ncases:\n", "f.yaml:2:7: cases is empty"),
        ("op: logit_grad\ncases: {a: 1}\n", "f.yaml:2:8: cases must be a list, not a mapping"),
        ("op: logit_grad\ncases: [7]\n", "f.yaml:2:9: a case must be a mapping, not 7"),
        ("opcli: 2\nnew: 1\n", "f.yaml:1:8: the file is of format version 2; this opcli reads up to 1"),
        ("opcli: one\n", "f.yaml:1:8: opcli is the version of the format, 1, not 'one'"),
        (
            "cases: [{dtype: float32}]\n",
            "f.yaml:1:9: op is missing: name the operator at the top of the file or in the case",
        ),
        ("opp: logit_grad\n", "f.yaml:1:1: unknown key of the file: 'opp'; did you mean 'op'?"),
        ("op: a\ndtype: float32\n", "f.yaml:2:1: 'dtype' is no key of the file; it belongs in a case"),
        ("op: a\nstatus: 0\n", "f.yaml:2:1: 'status' is no key of the file; it belongs in expect"),
        ("op: a\ndefaults: {name: x}\n", "f.yaml:2:12: 'name' is no key of defaults; it belongs in a case"),
        ("op: a\ndefaults: [x]\n", "f.yaml:2:11: defaults must be a mapping, not a list"),
        (
            "op: logit_grad\ncases:\n- {name: a, dtype: float32, shape: [1]}\n- {name: a, dtype: float32, shape: [1]}\n",
            "f.yaml:4:10: the name 'a' is repeated; it belongs to the case on line 3 already",
        ),
        (
            "op: logit_grad\ncases:\n- {name: '2', dtype: float32, shape: [1]}\n- {dtype: float32, shape: [1]}\n",
            "f.yaml:4:3: the name '2' is repeated; it belongs to the case on line 3 already",
        ),
        (
            "op: logit_grad\ncases:\n- name: m\n  matrix: {n: [1, 1]}\n  dtype: float32\n  shape: [$n]\n",
            "f.yaml:3:9: the name 'm[n=1]' is repeated; two points of its matrix look the same",
        ),
    ],
)
def test_files(text: str, message: str) -> None:
    assert error_of(text) == message


# --- keys, names, words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{dtypes: float32}", "f.yaml:3:4: unknown key of a case: 'dtypes'; did you mean 'dtype'?"),
        ("{x-note: 1}", "f.yaml:3:4: unknown key of a case: 'x-note'; known are name, op,"),
        ("{cases: []}", "f.yaml:3:4: 'cases' is no key of a case; it belongs in the file"),
        ("{status: 1}", "f.yaml:3:4: 'status' is no key of a case; it belongs in expect"),
        ("{expect: {stauts: 1}, dtype: float32, shape: []}", "f.yaml:3:13: unknown key of expect: 'stauts'; did you mean 'status'?"),
        ("{op: logit_gard, dtype: float32, shape: []}", "f.yaml:3:8: unknown operator 'logit_gard'; did you mean 'logit_grad'?"),
        ("{dtype: flaot16, shape: []}", "f.yaml:3:11: unknown dtype 'flaot16'; did you mean 'float16'?"),
        ("{dtype: no, shape: []}", "f.yaml:3:11: unknown dtype 'no'"),
        ("{dtype: 16, shape: []}", "f.yaml:3:11: dtype must be text, not 16; quote it: '16'"),
        ("{dtype: float32, shape: 4}", "f.yaml:3:27: shape must be a list: [4]"),
        ("{dtype: float32, shape: 4x4}", "f.yaml:3:27: shape must be a list, not '4x4'"),
        ("{dtype: float32, shape: [4, -1]}", "f.yaml:3:31: an entry of shape must lie between 0 and"),
        ("{dtype: float32, shape: [4.0]}", "f.yaml:3:28: an entry of shape must be a whole number, not 4.0"),
        ("{dtype: float32, shape: null}", "f.yaml:3:27: shape must be a list, not null"),
        ("{product: atlas_a9, dtype: float32, shape: []}", "f.yaml:3:13: unknown product 'atlas_a9'; did you mean 'atlas_a"),
        ("{seed: -1, dtype: float32, shape: []}", "f.yaml:3:10: seed must lie between 0 and"),
        ("{seed: 1.5, dtype: float32, shape: []}", "f.yaml:3:10: seed must be a whole number, not 1.5"),
        ("{seed: , dtype: float32, shape: []}", "f.yaml:3:10: seed must be a whole number, not null"),
        ("{name: 'a::b', dtype: float32, shape: []}", "f.yaml:3:10: a name has no '::' and no blanks at its ends"),
        ("{name: '', dtype: float32, shape: []}", "f.yaml:3:10: name must be one line of text"),
        ("{name: [a], dtype: float32, shape: []}", "f.yaml:3:10: name must be text, not a list"),
        ("{tags: [[a]], dtype: float32, shape: []}", "f.yaml:3:11: a tag must be text, not a list"),
        ("{inputs: 3, dtype: float32, shape: []}", "f.yaml:3:12: inputs must be a mapping, not 3"),
        # parameters
        ("{dtype: float32, shape: [], inputs: {y: 1}}", "f.yaml:3:40: aclnnLogitGrad has no input 'y'; did you mean 'dy'?"),
        ("{dtype: float32, shape: [], inputs: {foo: 1}}", "f.yaml:3:40: aclnnLogitGrad has no input 'foo'; it has x, dy"),
        ("{dtype: float32, shape: [], inputs: {eps: 1}}", "f.yaml:3:40: eps is an attribute of aclnnLogitGrad: write it under attrs"),
        ("{dtype: float32, shape: [], inputs: {out: 1}}", "f.yaml:3:40: out is an output of aclnnLogitGrad: write it under outputs"),
        ("{dtype: float32, shape: [], attrs: {x: 1}}", "f.yaml:3:39: x is an input of aclnnLogitGrad: write it under inputs"),
        ("{dtype: float32, shape: [], attrs: {epsi: 1}}", "f.yaml:3:39: aclnnLogitGrad has no attribute 'epsi'; did you mean 'eps'?"),
        ("{dtype: float32, shape: [], outputs: {dx: null}}", "f.yaml:3:41: aclnnLogitGrad has no output 'dx'"),
        ("{dtype: float32, shape: [], outputs: {ou: null}}", "f.yaml:3:41: aclnnLogitGrad has no output 'ou'; did you mean 'out'?"),
        ("{dtype: float32, shape: [], inputs: {ouut: 1}}", "f.yaml:3:40: aclnnLogitGrad has no input 'ouut'; did you mean 'out', under outputs?"),
        ("{dtype: float32, shape: [], expect: {outputs: {ou: 1}}}", "f.yaml:3:50: unknown output of aclnnLogitGrad: 'ou'; did you mean 'out'?"),
        # tensors
        ("{inputs: {x: {dtype: float32, shape: [1], layuot: padded}}}", "f.yaml:3:45: unknown key of the tensor x: 'layuot'; did you mean 'layout'?"),
        ("{inputs: {x: {uniform: [0, 1]}}}", "f.yaml:3:17: 'uniform' is data: write x: {data: {uniform: ...}}"),
        ("{inputs: {x: {dtype: float32}, dy: 1.0}}", "f.yaml:3:16: x needs a shape"),
        ("{inputs: {x: {shape: [1]}, dy: 1.0}}", "f.yaml:3:16: x needs a dtype"),
        ("{inputs: {x: {data: {uniform: [0, 1]}}, dy: 1.0}}", "f.yaml:3:16: x needs a dtype and a shape"),
        ("{inputs: {x: 1.0}}", "f.yaml:3:3: aclnnLogitGrad has no dy here: write it under inputs"),
        ("{inputs: {x: 1.0}, dtype: float32}", "f.yaml:3:3: aclnnLogitGrad has no dy here: write it under inputs, or a shape for the case"),
        ("{attrs: {}}", "f.yaml:3:3: a case of aclnnLogitGrad gives dtype and shape, or its inputs: x, dy"),
        ("{inputs: {x: {dtype: float32, shape: [4], layout: transpose}, dy: 1}}", "f.yaml:3:53: x: unknown layout 'transpose'; did you mean 'transposed'?"),
        ("{inputs: {x: {dtype: float32, shape: [4], layout: padded, strides: [2]}, dy: 1}}", "f.yaml:3:70: x: layout and strides exclude each other"),
        ("{inputs: {x: {dtype: float32, shape: [4], strides: [2, 1]}, dy: 1}}", "f.yaml:3:54: x: strides [2, 1] has 2 entries"),
        ("{inputs: {x: {dtype: float32, shape: [4], storage_shape: [3]}, dy: 1}}", "f.yaml:3:60: x: storage_shape [3] has 3 elements, but the view needs 4"),
        ("{inputs: {x: {dtype: float32, shape: [4], format: NCWH}, dy: 1}}", "f.yaml:3:53: unknown format 'NCWH' of x; did you mean 'NCHW'?"),
        ("{inputs: {x: {dtype: float32, shape: [4611686018427387904, 4611686018427387904]}, dy: 1}}", "f.yaml:3:40: x: shape ["),
        ("{dtype: float32, shape: [1000000000000000000]}", "f.yaml:3:3: x: shape [1000000000000000000] has"),
        # data
        ("{dtype: float32, shape: [2, 2], inputs: {x: [1, 2, 3]}}", "f.yaml:3:47: x has 3 values, but its shape [2, 2] takes 4"),
        ("{dtype: float32, shape: [2, 2], inputs: {x: [[1, 2], [3]]}}", "f.yaml:3:56: x is ragged or of another shape: this list has 1 value, but axis 1 of the shape [2, 2] takes 2"),
        ("{dtype: float32, shape: [2, 2], inputs: {x: [[1, 2], 3]}}", "f.yaml:3:56: x is ragged: here must stand a list of 2 values, not 3"),
        ("{dtype: float32, shape: [2], inputs: {x: [[1], [2]]}}", "f.yaml:3:45: x is nested deeper than its shape [2]"),
        ("{dtype: float32, shape: [2], inputs: {x: [1, naan]}}", "f.yaml:3:48: a value of x must be a number, not 'naan'; did you mean 'nan'?"),
        ("{dtype: float32, shape: [2], inputs: {x: [1, null]}}", "f.yaml:3:48: a value of x must be a number, not null"),
        ("{inputs: {x: [[1, 2], [3]], dy: 1}}", "f.yaml:3:25: x is ragged or of another shape"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: unifrom}}}", "f.yaml:3:51: x must be a number, a list, or a generator"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: uniform}}}", "f.yaml:3:51: the generator uniform needs its numbers: {uniform: [0, 1]}"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: null}}}", "f.yaml:3:51: x must be a number, a list"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {unifrom: [0, 1]}}}}", "f.yaml:3:52: unknown generator: 'unifrom'; did you mean 'uniform'?"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {uniform: [0]}}}}", "f.yaml:3:61: uniform takes two numbers: {uniform: [0, 1]}"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {uniform: 1}}}}", "f.yaml:3:61: the generator uniform takes a list: {uniform: [0, 1]}"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {uniform: [2, 1]}}}}", "f.yaml:3:51: x: uniform needs lo <= hi"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {uniform: [0, 1], normal: [0, 1]}}}}", "f.yaml:3:51: x takes one generator, here is uniform and normal"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {specials: [nan]}}}}", "f.yaml:3:51: x takes one generator, here is none"),
        ("{dtype: int8, shape: [2], inputs: {x: {data: {integers: [0, 1.5]}}}}", "f.yaml:3:63: integers takes whole numbers, not 1.5"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {choice: []}}}}", "f.yaml:3:60: choice needs at least one value"),
        ("{dtype: float32, shape: [2], inputs: {x: {data: {permutation: [3]}}}}", "f.yaml:3:65: permutation takes no numbers"),
        ("{dtype: float32, shape: [1], inputs: {x: {data: {uniform: [0, 1], specials: [nan, inf]}}}}", "f.yaml:3:79: x: 2 specials do not fit into 1 element"),
        ("{dtype: complex64, shape: [], inputs: {x: {data: [1, 2, 3]}}}", "f.yaml:3:52: x has 3 values, but its shape [] takes 1"),
        ("{dtype: complex64, shape: [2], inputs: {x: {data: [[1, 2], [1, 2, 3]]}}}", "f.yaml:3:62: x is nested deeper than its shape [2]"),
        # attributes
        ("{dtype: float32, shape: [], attrs: {eps: null}}", "f.yaml:3:44: null is the null pointer; eps is a plain double"),
        ("{dtype: float32, shape: [], attrs: {eps: true}}", "f.yaml:3:44: eps is a double, not true: write a number"),
        ("{dtype: float32, shape: [], attrs: {eps: small}}", "f.yaml:3:44: eps must be a number, not 'small'"),
        ("{dtype: float32, shape: [], attrs: {eps: [1]}}", "f.yaml:3:44: eps is a double, not a list: write a number"),
        ("{dtype: float32, shape: [], attrs: {eps: {value: 1}}}", "f.yaml:3:44: eps is a double, not a mapping; {value, dtype} is for an aclScalar"),
        # outputs
        ("{dtype: float32, shape: [], outputs: {out: {data: 1}}}", "f.yaml:3:47: the operator makes the data of out; expected values stand in expect.outputs"),
        ("{dtype: float32, shape: [], outputs: {out: 1}}", "f.yaml:3:46: the output out takes dtype, shape and layout, or null, not 1"),
        ("{dtype: float32, shape: [2, 2], outputs: {out: {strides: [0, 1]}}}", "f.yaml:3:60: the strides of out overlap"),
        # expectations
        ("{dtype: float32, shape: [], expect: {status: ACLNN_ERR_PARAM_NULPTR}}", "f.yaml:3:48: unknown return code 'ACLNN_ERR_PARAM_NULPTR'; did you mean 'ACLNN_ERR_PARAM_NULLPTR'?"),
        ("{dtype: float32, shape: [], expect: {status: 161009}}", "f.yaml:3:48: unknown return code 161009; the nearest known one is 16100"),
        ("{dtype: float32, shape: [], expect: {status: true}}", "f.yaml:3:48: a status is a name or a number, such as 161002, not true"),
        ("{dtype: float32, shape: [], expect: {status: }}", "f.yaml:3:48: a status is a name or a number, such as 161002, not null"),
        ("{dtype: float32, shape: [], expect: {status: {phase: 2}}}", "f.yaml:3:48: expect.status needs a code"),
        ("{dtype: float32, shape: [], expect: {status: {code: 161002, phase: 3}}}", "f.yaml:3:70: a phase is 1, 2 or sync, not 3"),
        ("{dtype: float32, shape: [], expect: {status: {code: 161002, message: '(a'}}}", "f.yaml:3:72: message is not a regular expression: "),
        ("{dtype: float32, shape: [], expect: {standard: ecosytem}}", "f.yaml:3:50: unknown standard 'ecosytem'; did you mean 'ecosystem'?"),
        ("{dtype: float32, shape: [], expect: {standard: {upl: {max: 2}}}}", "f.yaml:3:51: unknown standard 'upl'; did you mean 'ulp'?"),
        ("{dtype: float32, shape: [], expect: {standard: {oot: {ulp: {max: 2}}}}}", "f.yaml:3:51: unknown output of aclnnLogitGrad: 'oot'; did you mean 'out'?"),
        ("{dtype: float32, shape: [], expect: {standard: {out: exat}}}", "f.yaml:3:56: unknown standard 'exat'; did you mean 'exact'?"),
        ("{dtype: float32, shape: [], expect: {standard: {ulp: 2}}}", "f.yaml:3:56: the numbers of ulp have names, such as {ulp: {max: 2}}, not 2"),
        ("{dtype: float32, shape: [], expect: {standard: {ulp: {max: .inf}}}}", "f.yaml:3:62: ulp.max must be a finite number, not .inf"),
        ("{dtype: float32, shape: [], expect: {standard: {ulp: {max: 1}, exact: {}}}}", "f.yaml:3:50: a standard is one name with its numbers"),
        ("{dtype: float32, shape: [], standard: bitz}", "f.yaml:3:41: unknown standard 'bitz'; did you mean 'bits'?"),
        ("{dtype: float32, shape: [2], expect: {outputs: {out: [1]}}}", "f.yaml:3:56: expect.outputs.out has 1 value, but its shape [2] takes 2"),
        ("{dtype: float32, shape: [2], expect: {outputs: {out: ignroe}}}", "f.yaml:3:56: expect.outputs.out takes values, {file: x.npy} or ignore, not 'ignroe'; did you mean 'ignore'?"),
        ("{dtype: float32, shape: [2], expect: {outputs: {out: null}}}", "f.yaml:3:56: expect.outputs.out takes values, {file: x.npy} or ignore, not null"),
        ("{dtype: float32, shape: [2], expect: {outputs: {out: {uniform: [0, 1]}}}}", "f.yaml:3:57: unknown key of expect.outputs.out: 'uniform'"),
        ("{dtype: float32, shape: [2], outputs: {out: null}, expect: {outputs: {out: 1}}}", "f.yaml:3:78: the output out is null"),
        ("{dtype: float32, shape: [], repeat: 0}", "f.yaml:3:39: repeat must lie between 1 and 1000000, not 0"),
        ("{dtype: float32, shape: [], deterministic: full}", "f.yaml:3:46: deterministic must be a whole number, not 'full'"),
        ("{dtype: float32, shape: [], known_issue: {expires: 2026-01-01}}", "f.yaml:3:44: known_issue needs a reason"),
        ("{dtype: float32, shape: [], known_issue: ''}", "f.yaml:3:44: known_issue needs a reason"),
        ("{dtype: float32, shape: [], known_issue: {reason: ''}}", "f.yaml:3:53: known_issue needs a reason"),
        ("{dtype: float32, shape: [], known_issue: {reason: r, expires: 2026-13-01}}", "f.yaml:3:65: known_issue.expires is a date, such as 2026-12-31"),
        ("{dtype: float32, shape: [], only: {backend: hots}}", "f.yaml:3:47: only.backend is host or device, not 'hots'; did you mean 'host'?"),
        ("{dtype: float32, shape: [], only: {cann: new}}", "f.yaml:3:44: only.cann is a version, such as '>=8.5', not 'new'"),
        ("{dtype: float32, shape: [], only: {prodcut: a}}", "f.yaml:3:38: unknown key of only: 'prodcut'; did you mean 'product'?"),
        ("{dtype: float32, shape: [], signature: nothere.h}", "f.yaml:3:42: signature is a C prototype or the path of a header; there is no file nothere.h"),
        ("{dtype: float32, shape: [], signature: 'int f(int a)'}", "f.yaml:3:42: no prototype of aclnnLogitGradGetWorkspaceSize in the signature"),
        ("{dtype: float32, shape: [], reference: 'import os'}", "f.yaml:3:42: "),
        ("{op: aclnnMySwish, dtype: float32, shape: [], reference: x + 1}", "f.yaml:3:8: unknown operator 'aclnnMySwish'; did you mean 'aclnnSwish'?; an operator of your own needs its C prototype under signature"),
        ("{dtype: float32, shape: [], signature: 'aclnnStatus aclnnLogitGradGetWorkspaceSize(const aclTensor *x, aclTensor *out)', reference: x.T}",
         "f.yaml:3:135: the reference uses Attribute"),
    ],
)  # fmt: skip
def test_cases(body: str, message: str) -> None:
    assert case_error(body).startswith(message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("matrix: {dtype: [float32]}\n  shape: [1]", "f.yaml:4:12: matrix.dtype is never used; write dtype: $dtype"),
        ("matrix: {n: [1]}\n  dtype: float32\n  shape: [1]", "f.yaml:4:12: matrix.n is never used; write $n where its value belongs"),
        ("dtype: $dtype\n  shape: [1]", "f.yaml:4:10: $dtype has no entry in matrix or zip; there is neither"),
        ("matrix: {dtype: [float32]}\n  dtype: $dytpe\n  shape: [1]", "f.yaml:5:10: $dytpe has no entry in matrix or zip; did you mean 'dtype'?"),
        ("matrix: {a: [1]}\n  dtype: $zzz\n  shape: [$a]", "f.yaml:5:10: $zzz has no entry in matrix or zip; there are $a"),
        ("matrix: {a: []}\n  shape: [$a]", "f.yaml:4:15: matrix.a has no values"),
        ("matrix: {a: 1}\n  shape: [$a]", "f.yaml:4:15: matrix.a must be a list, not 1"),
        ("matrix: {}\n  shape: [1]", "f.yaml:4:11: matrix names nothing"),
        ("matrix: [a]\n  shape: [1]", "f.yaml:4:11: matrix must be a mapping, not a list"),
        ("matrix: {'a b': [1]}\n  shape: [1]", "f.yaml:4:12: 'a b' is not a name for matrix"),
        ("matrix: {a: [1], b: [$a]}\n  shape: [$a]", "f.yaml:4:24: a value of matrix cannot refer to a $name itself"),
        ("zip: {a: [1, 2], b: [1]}\n  shape: [$a, $b]", "f.yaml:4:8: the lists of zip travel together and must be of equal length: a has 2, b has 1"),
        ("matrix: {a: [1]}\n  zip: {a: [1]}\n  shape: [$a]", "f.yaml:5:9: 'a' stands in matrix already"),
        ("exclude: [{a: 1}]\n  shape: [1]", "f.yaml:4:3: exclude leaves out points of a matrix or zip, and there is none here"),
        ("matrix: {abc: [1]}\n  exclude: [{abd: 1}]\n  shape: [$abc]", "f.yaml:5:14: unknown name in exclude, which is not in matrix or zip: 'abd'; did you mean 'abc'?"),
        ("matrix: {a: [float16]}\n  exclude: [{a: flaot16}]\n  dtype: $a", "f.yaml:5:17: 'flaot16' is not among the values of 'a'; did you mean 'float16'?"),
        ("matrix: {a: [1, 2]}\n  exclude: [{a: 1}, {a: 2}]\n  shape: [$a]", "f.yaml:5:12: exclude leaves no case"),
        ("zip: {a: [1, 2], b: [1, 2]}\n  exclude: [{a: 1, b: 2}]\n  dtype: float32\n  shape: [$a, $b]", "f.yaml:5:13: this point of exclude leaves out nothing"),
        ("matrix: {dtype: [float32, flaot16]}\n  dtype: $dtype\n  shape: [1]", "f.yaml:4:29: unknown dtype 'flaot16'; did you mean 'float16'?"),
    ],
)  # fmt: skip
def test_matrices(body: str, message: str) -> None:
    assert case_error(f"name: m\n  {body}").startswith(message)


def test_a_matrix_that_explodes() -> None:
    axes = ", ".join(f"n{i}: [1, 2]" for i in range(40))
    message = case_error(f"name: m\n  matrix: {{{axes}}}\n  shape: [$n0]")
    assert message == "f.yaml:4:11: this matrix takes the file over the limit of 100000 cases".replace(
        "100000", "100,000"
    )


def test_a_dollar_in_the_defaults_without_a_matrix() -> None:
    text = "op: logit_grad\ndefaults: {dtype: $dtype}\ncases: [{shape: [1]}]"
    assert error_of(text) == "f.yaml:2:19: $dtype has no entry in matrix or zip; there is neither"


@pytest.mark.parametrize(
    ("op", "body", "message"),
    [
        ("amp_update_scale", "{dtype: float32, shape: [1], attrs: {growthInterval: 2.0}}", "f.yaml:3:56: growthInterval is an int64_t, not 2.0: write 2"),
        ("amp_update_scale", "{dtype: float32, shape: [1], attrs: {growthInterval: 2.5}}", "f.yaml:3:56: growthInterval is an int64_t, not 2.5: write a whole number"),
        ("amp_update_scale", "{dtype: float32, shape: [1], attrs: {growthInterval: 9223372036854775808}}", "f.yaml:3:56: 9223372036854775808 does not fit growthInterval, an int64_t from -9223372036854775808 to"),
        ("elu_backward", "{dtype: float32, shape: [1], attrs: {isResult: 1}}", "f.yaml:3:50: isResult is a bool, not 1: write true or false"),
        ("elu_backward", "{dtype: float32, shape: [1], attrs: {alpha: {valeu: 1}}}", "f.yaml:3:48: unknown key of alpha: 'valeu'; did you mean 'value'?"),
        ("elu_backward", "{dtype: float32, shape: [1], attrs: {alpha: {dtype: float32}}}", "f.yaml:3:47: alpha has no value"),
        ("elu_backward", "{dtype: float32, shape: [1], attrs: {alpha: {value: [1, 2], dtype: float32}}}", "f.yaml:3:55: alpha must be a number, not a list"),
        ("batch_norm_elemt_backward", "{dtype: float32, shape: [3]}", "f.yaml:3:27: mean, invstd, weight, sumDy, sumDyXmu of aclnnBatchNormElemtBackward need a shape of their own: "),
        ("batch_norm_elemt_backward", "{dtype: float32, shape: [3], inputs: {mean: 1}}", "f.yaml:3:47: mean needs a shape of its own: "),
    ],
)  # fmt: skip
def test_kinds_of_parameters(op: str, body: str, message: str) -> None:
    assert case_error(body, op).startswith(message)


PROTOTYPE = (
    "aclnnStatus aclnnOddGetWorkspaceSize(const aclTensorList *tensors, aclTensor *varRef,"
    " const aclIntArray *dims, const char *mode, aclDataType dtype, uint64_t many,"
    " aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)"
)
FINE = {
    "inputs": "{tensors: [1.0], varRef: 1.0}",
    "attrs": "{dims: [0], mode: sum, dtype: float16, many: 3}",
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"outputs": "{varRef: null}"}, "f.yaml:7:13: varRef is an inout parameter of aclnnOdd: write it under inputs"),
        ({"inputs": "{tensors: [1.0], varRef: {dtype: float32, shape: [2], strides: [0], data: 1}}"}, "f.yaml:5:74: the strides of varRef overlap"),
        ({"inputs": "{tensors: [1.0, null], varRef: 1.0}"}, "f.yaml:5:27: a tensor of the list tensors cannot be null; the whole list can"),
        ({"inputs": "{tensors: 1.0, varRef: 1.0}"}, "f.yaml:5:21: the tensor list tensors must be a list, not 1.0"),
        ({"attrs": "{dims: 0, mode: sum, dtype: float16, many: 3}"}, "f.yaml:6:17: dims is an aclIntArray, not 0: write a list, such as [1]"),
        ({"attrs": "{dims: [0.5], mode: sum, dtype: float16, many: 3}"}, "f.yaml:6:18: dims is an aclIntArray, not 0.5: write a whole number"),
        ({"attrs": "{dims: [0], mode: 1, dtype: float16, many: 3}"}, "f.yaml:6:28: mode is a string, not 1: write it in quotes: '1'"),
        ({"attrs": "{dims: [0], mode: sum, dtype: 1, many: 3}"}, "f.yaml:6:40: dtype is an aclDataType, not 1: write the name of a dtype, such as float16"),
        ({"attrs": "{dims: [0], mode: sum, dtype: flaot16, many: 3}"}, "f.yaml:6:40: unknown dtype 'flaot16'; did you mean 'float16'?"),
        ({"attrs": "{dims: [0], mode: sum, dtype: float16, many: -3}"}, "f.yaml:6:55: -3 does not fit many, a uint64_t from 0 to 18446744073709551615"),
        ({"attrs": "{dims: [0]}"}, "f.yaml:6:10: mode, dtype, many of aclnnOdd have no default: write a value under attrs"),
        ({"expect": "{outputs: {tensors: 1}}"}, "f.yaml:7:22: unknown output of aclnnOdd: 'tensors'"),
    ],
)  # fmt: skip
def test_an_operator_with_a_signature_of_its_own(changed: dict[str, str], message: str) -> None:
    keys = {**FINE, **changed}
    lines = "\n  ".join(f"{key}: {value}" for key, value in keys.items())
    assert error_of(f"op: aclnnOdd\nsignature: {PROTOTYPE}\ncases:\n- name: a\n  {lines}\n").startswith(
        message
    )


# --- files of data ------------------------------------------------------------------------------------------


def file_error(name: str, folder: Path) -> str:
    text = f"{HEAD}{{dtype: float32, shape: [2], inputs: {{x: {{data: {{file: '{name}'}}}}}}}}\n"
    message = error_of(text, str(folder / "f.yaml"))
    assert message.startswith(f"{folder / 'f.yaml'}:3:")
    return message.split(": ", 1)[1]


def test_data_files(tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    np.save(tmp_path / "outside.npy", np.zeros(2, np.float32))
    np.save(folder / "three.npy", np.zeros(3, np.float32))
    np.savez(folder / "two.npz", alpha=np.zeros(2, np.float32), beta=np.zeros(2, np.float32))
    (folder / "link.npy").symlink_to(tmp_path / "outside.npy")
    (folder / "loop.npy").symlink_to(folder / "loop.npy")
    (folder / "sub").mkdir()
    outside = "lies outside the case file's folder"
    assert file_error("../outside.npy", folder) == f"the file ../outside.npy {outside}"
    assert file_error(str(tmp_path / "outside.npy"), folder).endswith(outside)
    assert file_error("link.npy", folder) == f"the file link.npy {outside}"
    assert file_error("sub/../../outside.npy", folder).endswith(outside)
    assert file_error("/dev/zero", folder).endswith(outside)
    assert "does not exist" in file_error("nothere.npy", folder)
    assert "is not a file" in file_error("sub", folder)
    assert "loop.npy" in file_error("loop.npy", folder)
    assert "has the shape [3], but the tensor has [2]" in file_error("three.npy", folder)
    assert "did you mean 'alpha'?" in file_error("two.npz:alhpa", folder)
    assert "2 members" in file_error("two.npz", folder)
    assert "file must be text" in file_error("a" * 300, folder) or "longer than" in file_error(
        "a" * 300, folder
    )


def test_the_file_itself(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="does not exist"):
        load_file(tmp_path / "nothere.yaml", check_standard=check)
    with pytest.raises(CaseFileError, match="is not a file"):
        load_file(tmp_path, check_standard=check)
    (tmp_path / "f.yaml").write_bytes(b"op: \xff\n")
    with pytest.raises(CaseFileError, match=r"f\.yaml:1:5: this is not UTF-8 text"):
        load_file(tmp_path / "f.yaml", check_standard=check)


def test_true_is_no_bound_of_a_generator_even_after_1_was_one() -> None:
    body = (
        "op: logit_grad\ncases: [{dtype: float32, shape: [4], inputs: {x: {data: {uniform: [0, BOUND]}}}}]\n"
    )
    load_text(body.replace("BOUND", "1"), "f.yaml", check_standard=check)
    assert "uniform needs real numbers" in error_of(body.replace("BOUND", "true"))
