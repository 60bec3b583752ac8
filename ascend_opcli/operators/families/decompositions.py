"""QR and singular values. Factors are defined up to signs and rotations: they are judged by what their product is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from ascend_opcli.operators.declare import Held, Undefined, declare, made, wide
from ascend_opcli.tensors.dtypes import float_format


def _finite(matrix: Any, word: str) -> Any:
    """Of which matrices of a batch the norm, which bounds every factor, is a number of the dtype ``word``.

    Nothing is known of the others: factors of theirs may be Inf.
    """
    if matrix.ndim < 2:
        raise Undefined("a matrix has two axes")
    size = np.abs(matrix).astype(np.float64)
    scale = np.where(_largest(size) < np.inf, _largest(size), 1)
    with np.errstate(over="ignore"):
        norm = scale[..., 0, 0] * np.sqrt(((size / scale) ** 2).sum((-1, -2)))
    good = np.asarray(norm <= float_format(word).largest)
    if good.size and not good.any():
        raise Undefined(f"a matrix whose norm is no number of {word}")
    return good


def _of_each(decompose: Any, matrix: Any, word: str) -> tuple[Any, ...]:
    good = _finite(matrix, word)
    if good.all():
        return tuple(decompose(matrix))
    made = decompose(np.where(good[..., None, None], matrix, 0))
    unsaid = (~good.reshape(good.shape + (1,) * (m.ndim - good.ndim)) for m in made)
    return tuple(
        np.ma.masked_array(m, np.broadcast_to(u, m.shape)) for m, u in zip(made, unsaid, strict=True)
    )


def _whole(word: str, matrix: Any, *factors: Any) -> tuple[Any, ...]:
    """Matrices and what belongs to them, those that are finite in a row where some are not."""
    good = _finite(matrix, word)
    return (matrix, *factors) if good.all() else tuple(m[good] for m in (matrix, *factors))


def _qr(self: Any, some: Any, dtypes: Any) -> Any:
    return _of_each(lambda matrix: np.linalg.qr(matrix, "reduced" if some else "complete"), self, dtypes["R"])


_MODES: tuple[Literal["reduced"], Literal["complete"], Literal["r"]] = ("reduced", "complete", "r")


def _qr_of_mode(self: Any, mode: Any, dtypes: Any) -> Any:
    if not 0 <= int(mode) < len(_MODES):
        raise Undefined(f"mode {int(mode)}")
    if int(mode) == 2:
        return np.zeros(0, self.dtype), *_of_each(
            lambda matrix: (np.linalg.qr(matrix, "r"),), self, dtypes["R"]
        )
    return _of_each(lambda matrix: np.linalg.qr(matrix, _MODES[int(mode)]), self, dtypes["R"])


def _svd(matrix: Any, full: Any, vectors: Any, dtypes: Any) -> Any:
    word = dtypes["sigma"]
    if not vectors:
        return *_of_each(lambda m: (np.linalg.svd(m, compute_uv=False),), matrix, word), None, None
    u, sigma, turned = _of_each(lambda m: np.linalg.svd(m, full_matrices=bool(full)), matrix, word)
    return sigma, u, _turned(turned)


# --- what must hold -------------------------------------------------------------------------------------------


def _turned(matrix: Any) -> Any:
    return np.swapaxes(np.conj(matrix), -1, -2)


def _largest(matrix: Any) -> Any:
    """The largest magnitude of every matrix, 1 for zeros: errors of a product are of this size."""
    found = np.abs(matrix).max((-1, -2), keepdims=True, initial=0)
    return np.where(found > 0, found, 1)


def _unitary(output: str, matrix: Any, dtype: str) -> Held:
    name = f"{output}^H {output}"
    return made(output, name, _turned(matrix) @ matrix, np.eye(matrix.shape[-1]), f"{name} = I", dtype)


def _qr_holds(*, got: Any, golden: Any, dtypes: Any, **told: Any) -> Iterator[Held]:
    if not {"Q", "R"} <= golden.keys():
        return
    a, q, r, word = told["self"], wide(got["Q"]), wide(got["R"]), dtypes["R"]
    if q.ndim < 2:
        a, r = _whole(word, a, r)
    else:
        a, q, r = _whole(word, a, q, r)
    scale = _largest(a)
    triangle = made("R", "R below its diagonal", np.tril(r, -1) / scale, 0, "R is upper triangular", word)
    if q.ndim < 2:
        square, of_r = _turned(a) @ a / scale**2, _turned(r) @ r / scale**2
        yield triangle
        yield made(
            "R", "R^H R", of_r, square, "R^H R = self^H self, over its largest magnitude squared", word
        )
        yield made("Q", "Q", q, q, "Q is empty", dtypes["Q"])
        return
    yield _unitary("Q", q, dtypes["Q"])
    yield triangle
    yield made("R", "Q R", q @ r / scale, a / scale, "Q R = self, over its largest magnitude", word)


def _svd_holds(*, got: Any, golden: Any, dtypes: Any, **told: Any) -> Iterator[Held]:
    if "sigma" not in golden:
        return
    word = dtypes["sigma"]
    a, sigma, right = _whole(word, told["input"], wide(got["sigma"]), golden["sigma"])
    first = np.where(right[..., :1] != 0, right[..., :1], 1)
    says = "the singular values, largest first, over the largest"
    yield made("sigma", "sigma / max", sigma / first, right / first, says, word)
    if not {"u", "v"} <= golden.keys():
        return
    k = sigma.shape[-1]
    _, u, v = _whole(word, told["input"], wide(got["u"]), wide(got["v"]))
    yield _unitary("u", u, dtypes["u"])
    yield _unitary("v", v, dtypes["v"])
    scale = _largest(a)
    product = (u[..., :k] * sigma[..., None, :]) @ _turned(v[..., :k]) / scale
    says = "u diag(sigma) v^H = input, over its largest magnitude"
    yield made("v", "u diag(sigma) v^H", product, a / scale, says, word)


# --- declarations ---------------------------------------------------------------------------------------------


def _qr_shapes(self: Any, complete: bool) -> list[Any]:
    *batch, m, n = self.shape
    k = m if complete else min(m, n)
    return [(self.dtype, (*batch, m, k)), (self.dtype, (*batch, k, n))]


def _mode_shapes(self: Any, mode: Any) -> list[Any]:
    q, r = _qr_shapes(self, int(mode) == 1)
    return [(self.dtype, (0,)) if int(mode) == 2 else q, r]


def _svd_shapes(matrix: Any, full: Any, _vectors: Any) -> list[Any]:
    *batch, m, n = matrix.shape
    k = min(m, n)
    u, v = ((*batch, d, d if full else k) for d in (m, n))
    return [(matrix.dtype, (*batch, k)), (matrix.dtype, u), (matrix.dtype, v)]


OPERATORS = (
    declare("Qr", _qr, "Q R = self with Q unitary and R upper triangular, reduced where some is set",
            lambda self, some: _qr_shapes(self, not some), sample_shape=(2, 4, 3), sample_attributes={"some": True},
            holds=_qr_holds),
    declare("LinalgQr", _qr_of_mode, "Q R = self with Q unitary and R upper triangular; mode is reduced, complete, r",
            _mode_shapes, sample_shape=(2, 4, 3), sample_attributes={"mode": 0}, holds=_qr_holds),
    declare("Svd", _svd, "u diag(sigma) v^H = input with u and v unitary and sigma descending", _svd_shapes,
            sample_shape=(2, 4, 3), sample_attributes={"fullMatrices": False, "computeUV": True}, holds=_svd_holds),
)  # fmt: skip
