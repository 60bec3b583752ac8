"""The values of a tensor: written, from a file, or drawn by a generator.

What is drawn depends only on the seed, the parameter's name, the shape and the generator: not on the dtype
(the same reals are rounded to each), the order, the worker, the machine or the version of NumPy. For that
the raw words of SFC64 are used, whose stream NumPy guarantees, and only operations that IEEE 754 defines to
the last bit: no logarithm or exponential of a mathematical library. Each block of :data:`BLOCK` elements
has a stream of its own, so that a part of a tensor can be had without the rest.

A new generator is one function here, which checks its arguments and returns a :data:`Draw`, and one entry
in :data:`GENERATORS`.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import (
    Data,
    Derived,
    Fill,
    FromFile,
    Generator,
    Number,
    Shape,
    Tensor,
    TensorSpec,
    Values,
)
from ascend_opcli.tensors import files, layout
from ascend_opcli.tensors.dtypes import (
    canonical,
    float_format,
    integer_range,
    numpy_dtype,
    part,
    round_to,
    spacing,
)
from ascend_opcli.tensors.dtypes import dtype as dtype_of

BLOCK = 2**16
"""Elements of one block. Part of the definition of every stream: another number is other data."""

STREAM_VERSION = "opcli data 1"
"""Hashed into every key. To be raised with any change that makes other data."""

_WORDS_32 = 2.0**-32
_PIECE = 2**15
_HELD = 2**21


# --- streams ------------------------------------------------------------------------------------------------


class Stream:
    """Random words by index. Those of block b come from SFC64, seeded with the key and b."""

    def __init__(self, key: bytes) -> None:
        self._entropy = int.from_bytes(key, "little")

    def words64(self, first: int, last: int) -> np.ndarray:
        """uint64 words of the elements first to last (exclusive), one each."""
        return self._gather(first, last, 1)

    def words32(self, first: int, last: int) -> np.ndarray:
        """uint32 words of the elements first to last (exclusive), one each: lower halves first."""
        return self._gather(first, last, 2)

    def _gather(self, first: int, last: int, split: int) -> np.ndarray:
        pieces = []
        while first < last:
            block, begin = divmod(first, BLOCK)
            end = min(begin + last - first, BLOCK)
            raw = self._raw(block, -(-end // split))
            # Halves are taken in memory order, which is the little-endian one by definition.
            pieces.append((raw if split == 1 else raw.astype("<u8", copy=False).view("<u4"))[begin:end])
            first += end - begin
        if not pieces:
            return np.empty(0, np.uint64 if split == 1 else np.uint32)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _raw(self, block: int, count: int) -> np.ndarray:
        seeded = np.random.SFC64(np.random.SeedSequence(self._entropy, spawn_key=(block,)))
        words: np.ndarray = seeded.random_raw(count)
        return words


Draw = Callable[[Stream, int, int], np.ndarray]
"""Gives the elements first to last (exclusive): reals or integers, rounded to the dtype afterwards."""


def _key(seed: int, name: str, shape: Sequence[int], kind: str, args: Sequence[Number]) -> bytes:
    """sha256 over all that random data depend on; numbers that are equal are written alike."""
    words = [_exact(arg) for arg in args]
    text = json.dumps([STREAM_VERSION, str(int(seed)), name, [int(dim) for dim in shape], kind, words])
    return hashlib.sha256(text.encode()).digest()


def _exact(number: Number) -> str:
    if isinstance(number, complex):
        return f"{_exact(number.real)} {_exact(number.imag)}"
    if isinstance(number, float):
        # Adding 0.0 makes 0.0 of -0.0.
        return (number + 0.0).hex() if not number.is_integer() else str(int(number))
    return str(int(number))


# --- generators ---------------------------------------------------------------------------------------------


def uniform(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Uniform in [lo, hi), also as stored: a value that rounding would take out becomes the nearest inside.

    lo + (hi - lo) k / 2**32 with one 32-bit word k an element. Where lo equals hi every element is lo.
    Where the dtype has no number in [lo, hi), and for bool, the values are rounded plainly.
    """
    lo, hi = _finite("uniform", args, ("lo", "hi"))
    if lo > hi:
        raise ValueError(f"uniform needs lo <= hi, not [{lo:g}, {hi:g}]")
    # The cache cannot tell -0.0 from 0.0.
    base, scale, half, low, high = _spread(lo + 0.0, hi + 0.0, dtype)

    # k scale is then one rounding and a shift of the exponent: float32 alone gives the same bits, faster.
    single = dtype == "float32" and base == 0.0 and half == 1.0 and 2.0**-90 < scale < 2.0**90
    kind = np.float32 if single and math.frexp(scale)[0] == 0.5 else np.float64

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        reals = stream.words32(first, last).astype(kind)
        reals *= kind(scale)
        if base != 0.0:
            reals += base
        if half != 1.0:
            reals *= 2.0
        if low is not None:
            np.maximum(reals, kind(low), out=reals)
        if high is not None:
            np.minimum(reals, kind(high), out=reals)
        return reals

    return draw


def normal(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Normal with that mean and std: the normal quantile of (k + 0.5) / 2**32, one 32-bit word k each."""
    mean, deviation = _finite("normal", args, ("mean", "std"))
    if deviation < 0:
        raise ValueError(f"normal needs a standard deviation of 0 or more, not {deviation:g}")

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        words = stream.words32(first, last).astype(np.float64)
        words += 0.5
        words *= _WORDS_32
        result = normal_quantile(words)
        result *= deviation
        result += mean
        return result

    return draw


def integers(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Uniform integers of [lo, hi], both included, one 64-bit word each (a bias of 2**-64 at most)."""
    lo, hi = (_whole("integers", arg) for arg in _counted("integers", args, ("lo", "hi")))
    if lo > hi:
        raise ValueError(f"integers needs lo <= hi, not [{lo}, {hi}]")
    signed = lo >= -(2**63) and hi < 2**63
    if not signed and not (lo >= 0 and hi < 2**64):
        raise ValueError(f"integers [{lo}, {hi}] lies neither within int64 nor within uint64")

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        values = scaled(stream.words64(first, last), hi - lo + 1)
        values += np.uint64(lo % 2**64)
        return values.view(np.int64) if signed else values

    return draw


def choice(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """One of the listed values, each as likely, one 64-bit word each."""
    if not args:
        raise ValueError("choice needs at least one value to choose from")
    table = literals(args, dtype)

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        return np.take(table, scaled(stream.words64(first, last), len(table)).view(np.int64))

    return draw


def linspace(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Evenly spaced from lo to hi, both included and exact; a single element is lo. Nothing is random."""
    lo, hi = _finite("linspace", args, ("lo", "hi"))
    half = 1.0 if math.isfinite(hi - lo) else 0.5

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:  # noqa: ARG001
        shares = np.arange(first, last, dtype=np.float64)
        shares /= max(count - 1, 1)
        shares *= hi * half - lo * half
        shares += lo * half
        shares /= half
        if first == 0:
            shares[:1] = lo
        if last == count > 1:
            shares[-1:] = hi
        return shares

    return draw


def permutation(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """The integers 0 to n - 1, each once: the stable order of n 64-bit keys. A part needs the whole."""
    _counted("permutation", args, ())
    whole: list[np.ndarray] = []

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        if not whole:
            whole.append(np.argsort(stream.words64(0, count), kind="stable"))
        return whole[0][first:last]

    return draw


GENERATORS: Mapping[str, Callable[[Sequence[Number], str, int], Draw]] = {
    "uniform": uniform,
    "normal": normal,
    "integers": integers,
    "choice": choice,
    "linspace": linspace,
    "permutation": permutation,
}
"""By kind. Each takes arguments, dtype and count, refuses wrong ones with a ValueError, returns a Draw."""

COMPLEX_PARTS = frozenset({"uniform", "normal"})
"""Generators that draw the imaginary part of a complex dtype too; with the others it is zero."""


# --- what is public -----------------------------------------------------------------------------------------


def check(data: Data, dtype: str, shape: Shape) -> None:
    """Refuses, with one clear sentence in a ValueError, data that cannot be made in that dtype and shape.

    Of a file only the header is read.
    """
    dtype = canonical(dtype)
    count = math.prod(shape)
    written = data.values if isinstance(data, Values) else (data.value,) if isinstance(data, Fill) else ()
    if dtype_of(dtype).kind in ("int", "uint") and any(v != v for v in written):
        raise ValueError(f"nan is not a value of {dtype}")
    if isinstance(data, Fill):
        literals((data.value,), dtype)
    elif isinstance(data, Values):
        if len(data.values) != count:
            raise ValueError(
                f"{len(data.values)} values do not fill the shape {list(shape)} of {count} elements"
            )
        literals(data.values, dtype)
    else:
        # What derived data give hangs on other tensors.
        if isinstance(data, Generator):
            _generator(data.kind)(data.args, part(dtype) if data.kind in COMPLEX_PARTS else dtype, count)
        elif isinstance(data, FromFile):
            if data.transposed and len(shape) < 2:
                raise ValueError(f"the shape {list(shape)} has no two axes to swap")
            files.fits(data.path, data.key, dtype, _stored_shape(data, shape))
        if len(data.specials) > count:
            raise ValueError(f"{len(data.specials)} specials do not fit into {count} elements")
        literals(data.specials, dtype)


def _stored_shape(data: FromFile, shape: Shape) -> Shape:
    """The shape under which a file holds a tensor of that shape."""
    return (*shape[:-2], shape[-1], shape[-2]) if data.transposed else shape


def generate(
    data: Data, *, dtype: str, shape: Shape, seed: int, name: str, start: int = 0, stop: int | None = None
) -> np.ndarray:
    """Elements ``start`` to ``stop`` of the flat row-major tensor, a new one-dimensional array of the dtype.

    The bytes are those of the same slice of the whole; only the blocks that it touches are made (permutation
    and compressed files excepted). ``name`` is the parameter's. Raises what :func:`check` raises.
    """
    dtype = canonical(dtype)
    shape = tuple(shape)
    count = math.prod(shape)
    check(data, dtype, shape)
    stop = count if stop is None else stop
    if not 0 <= start <= stop <= count:
        raise ValueError(f"elements {start} to {stop} do not lie within a tensor of {count}")
    if isinstance(data, Fill):
        return np.full(stop - start, literals((data.value,), dtype)[0], numpy_dtype(dtype))
    if isinstance(data, Values):
        return literals(data.values[start:stop], dtype)
    if isinstance(data, Derived):
        raise ValueError(f"'{name}' is derived from other inputs")
    if isinstance(data, FromFile):
        values = files.read(data.path, data.key, dtype, _stored_shape(data, shape))
        if data.transposed:
            values = values.reshape(_stored_shape(data, shape)).swapaxes(-1, -2).reshape(-1)
        result = np.array(values[start:stop])
        # The place of a file says nothing about the data: it is left out of the key.
        key = _key(seed, name, shape, "file", ())
    else:
        result = np.empty(stop - start, numpy_dtype(dtype))
        key = _key(seed, name, shape, data.kind, data.args)
        _fill(result, data, dtype, count, start, Stream(key), seed, name, shape)
    _put_specials(result, literals(data.specials, dtype), start, count, key)
    return result


def stored(
    values: np.ndarray, data: Derived, *, dtype: str, shape: Shape, seed: int, name: str
) -> np.ndarray:
    """Flat values of derived data, rounded to the dtype, with its specials at their places."""
    result = np.array(round_to(values, dtype))
    key = _key(seed, name, shape, "expr", ())
    _put_specials(result, literals(data.specials, dtype), 0, result.size, key)
    return result


def make_tensor(name: str, spec: TensorSpec, seed: int) -> Tensor:
    """The tensor of a parameter: its view holds the spec's data, the rest of its storage a pattern."""
    if spec.data is None:
        raise ValueError(f"'{name}' has no data to be made from")
    values = generate(spec.data, dtype=spec.dtype, shape=spec.shape, seed=seed, name=name)
    return layout.place(values, spec)


def literals(values: Sequence[Number], dtype: str) -> np.ndarray:
    """Written numbers in the dtype, one-dimensional, each rounded once; large integers are taken exactly.

    ValueError for something that is no number, or complex in a real dtype.
    """
    want = dtype_of(dtype)
    kinds = {type(value) for value in values}
    if not kinds <= {bool, int, float, complex}:
        wrong = next(value for value in values if type(value) not in (bool, int, float, complex))
        raise ValueError(f"{wrong!r} is not a number")
    if complex in kinds:
        if want.kind != "complex":
            raise ValueError(f"a complex value cannot be held in {want.name}")
        with np.errstate(all="ignore"):
            parts = literals([p for v in values for p in (v.real, v.imag)], part(dtype))
        return parts.view(want.numpy)
    if want.kind == "complex":
        result = np.zeros(len(values), want.numpy)
        result.real = literals(values, part(dtype))
        return result
    if int in kinds and any(type(value) is int and abs(value) > 2**53 for value in values):
        return np.concatenate([round_to(_exact_array(value), dtype) for value in values])
    return round_to(np.array(values, np.float64), dtype)


def not_held(values: Sequence[Number], dtype: str) -> int | None:
    """The place of the first number that the dtype cannot hold: it is rounded to another integer, clipped, or becomes
    Inf or NaN; None where there is none. Decimals may be rounded to a float."""
    want = dtype_of(dtype)
    if not values:
        return None
    if want.kind in ("float", "complex"):
        reals = [[v.real, v.imag] if want.kind == "complex" else [v] for v in values]
        with np.errstate(all="ignore"):
            made = literals([r for each in reals for r in each], part(dtype)).astype(np.float64)
        # A whole number that float64 cannot hold is finite all the same.
        written = np.array([0.0 if type(r) is int else r for each in reals for r in each], np.float64)
        lost = (np.isfinite(made) != np.isfinite(written)) | (np.isnan(made) != np.isnan(written))
        places = np.flatnonzero(lost.reshape(len(values), -1).any(axis=1))
        return int(places[0]) if places.size else None
    low, high = (0, 1) if want.kind == "bool" else integer_range(dtype)
    held = (isinstance(v, (int, float)) and low <= v <= high and v == int(v) for v in values)
    return next((place for place, fits in enumerate(held) if not fits), None)


def normal_quantile(shares: np.ndarray) -> np.ndarray:
    """The standard normal quantile of shares in [2**-33, 1 - 2**-33], float64 in and out.

    M. J. Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988) 477-484, relative accuracy about
    1e-16. Its third branch serves shares below exp(-25) and is never reached with 32-bit words.
    """
    result = np.empty_like(shares)
    # In pieces, so that the intermediate values stay in the cache.
    for first in range(0, shares.size, _PIECE):
        result[first : first + _PIECE] = _quantile(shares[first : first + _PIECE])
    return result


def _quantile(shares: np.ndarray) -> np.ndarray:
    offset = shares - 0.5
    square = offset * offset
    np.subtract(0.180625, square, out=square)
    result = _polynomial(square, _CENTRE_OVER)
    result /= _polynomial(square, _CENTRE_UNDER)
    result *= offset
    tail = np.flatnonzero(square < 0.0)
    if tail.size:
        outer = shares[tail]
        depth = np.sqrt(-log(np.minimum(outer, 1.0 - outer)))
        depth -= 1.6
        far = _polynomial(depth, _TAIL_OVER)
        far /= _polynomial(depth, _TAIL_UNDER)
        result[tail] = np.copysign(far, offset[tail])
    return result


def log(values: np.ndarray) -> np.ndarray:
    """The natural logarithm of positive normal float64, the same bits on every machine, error below 2 ulp.

    With v = m 2**e and m in [sqrt(1/2), sqrt(2)): e log 2 + 2 artanh((m - 1) / (m + 1)), artanh by its
    series.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    exponent = (exponent - small).astype(np.float64)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = _polynomial(square, _ARTANH)
    series *= square
    series *= ratio
    series += ratio
    series *= 2.0
    # log 2 in two parts: the first has 21 zero bits at its end, its product with the exponent is exact.
    series += exponent * _LN2_LOW
    series += exponent * _LN2_HIGH
    return series


def scaled(words: np.ndarray, span: int) -> np.ndarray:
    """floor(word * span / 2**64) of uint64 words, for a span of 1 to 2**64: integers of [0, span)."""
    result = np.empty_like(words)
    for first in range(0, words.size, _PIECE):
        result[first : first + _PIECE] = _high_product(words[first : first + _PIECE], span)
    return result


def _high_product(words: np.ndarray, span: int) -> np.ndarray:
    if span == 2**64:
        return words
    low32, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    span_high, span_low = np.uint64(span >> 32), np.uint64(span & 0xFFFFFFFF)
    high, low = words >> shift, words & low32
    # Schoolbook product in halves; no sum below exceeds 64 bits.
    middle = high * span_low + ((low * span_low) >> shift)
    product: np.ndarray
    if span_high == 0:
        product = middle >> shift
        return product
    cross = low * span_high + (middle & low32)
    product = high * span_high + (middle >> shift) + (cross >> shift)
    return product


# --- inside -------------------------------------------------------------------------------------------------


def _generator(kind: str) -> Callable[[Sequence[Number], str, int], Draw]:
    if kind not in GENERATORS:
        listed = f"; known are {', '.join(GENERATORS)}"
        raise ValueError(f"unknown generator '{kind}'" + did_you_mean(kind, GENERATORS, otherwise=listed))
    return GENERATORS[kind]


def _fill(
    result: np.ndarray,
    data: Generator,
    dtype: str,
    count: int,
    start: int,
    stream: Stream,
    seed: int,
    name: str,
    shape: Shape,
) -> None:
    """Draws the elements from ``start`` on into ``result``, block by block."""
    if len(result) > _PIECE:
        # glibc returns memory of a block's size to the system whenever it is freed, and page faults then cost
        # more than the data. Freeing one larger piece makes it hold on to such sizes (mallopt(3)).
        np.empty(_HELD, np.uint8)
    in_parts = dtype_of(dtype).kind == "complex" and data.kind in COMPLEX_PARTS
    targets = [(result, stream)]
    if in_parts:
        other = Stream(_key(seed, f"{name}.imag", shape, data.kind, data.args))
        targets = [(result.real, stream), (result.imag, other)]
        dtype = part(dtype)
    for target, source in targets:
        draw = _generator(data.kind)(data.args, dtype, count)
        first = start
        while first < start + len(result):
            last = min((first // BLOCK + 1) * BLOCK, start + len(result))
            with np.errstate(all="ignore"):
                round_to(draw(source, first, last), dtype, out=target[first - start : last - start])
            first = last


def _put_specials(result: np.ndarray, specials: np.ndarray, start: int, count: int, key: bytes) -> None:
    """Puts each special at its place where that lies in the part from ``start`` on."""
    if not specials.size:
        return
    words = Stream(hashlib.sha256(key + b"specials").digest()).words64(0, specials.size)
    # The first steps of Fisher and Yates, with only the moved places kept.
    moved: dict[int, int] = {}
    for index, word in enumerate(words.tolist()):
        other = index + (word * (count - index) >> 64)
        place = moved.get(other, other)
        moved[other] = moved.get(index, index)
        if start <= place < start + len(result):
            result[place - start] = specials[index]


def _exact_array(value: Number) -> np.ndarray:
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return np.array([value], np.int64 if value < 2**63 else np.uint64)
    try:
        return np.array([value], np.float64)
    except OverflowError:
        return np.array([math.inf if isinstance(value, int) and value > 0 else -math.inf])


def _counted(kind: str, args: Sequence[Number], names: Sequence[str]) -> Sequence[Number]:
    if len(args) != len(names):
        wanted = f"{len(names)} arguments, {' and '.join(names)}" if names else "no arguments"
        raise ValueError(f"{kind} takes {wanted}; {len(args)} given")
    return args


def _finite(kind: str, args: Sequence[Number], names: Sequence[str]) -> tuple[float, ...]:
    numbers = []
    for name, arg in zip(names, _counted(kind, args, names), strict=True):
        if isinstance(arg, bool) or not isinstance(arg, (int, float)):
            raise ValueError(f"{kind} needs real numbers, not {name} = {arg!r}")
        if (isinstance(arg, float) and not math.isfinite(arg)) or abs(arg) > sys.float_info.max:
            raise ValueError(f"{kind} needs finite numbers, not {name} = {arg}")
        numbers.append(float(arg))
    return tuple(numbers)


def _whole(kind: str, arg: Number) -> int:
    if isinstance(arg, int) and not isinstance(arg, bool):
        return arg
    if isinstance(arg, float) and arg.is_integer():
        return int(arg)
    raise ValueError(f"{kind} needs whole numbers, not {arg!r}")


def _as_reals(values: np.ndarray) -> np.ndarray:
    return round_to(values, "float64")


@lru_cache(maxsize=256)
def _spread(lo: float, hi: float, dtype: str) -> tuple[float, float, float, float | None, float | None]:
    """How uniform values are made: base, scale and half of (base + scale k) / half, and where they are clipped."""
    # Where hi - lo overflows, both are halved, which is exact, and the result doubled.
    half = 1.0 if math.isfinite(hi - lo) else 0.5
    base, scale = lo * half, (hi * half - lo * half) * _WORDS_32
    bounds = _inside(lo, hi, dtype)
    if bounds is None:
        return base, scale, half, None, None
    low, high = bounds
    if half != 1.0:
        return base, scale, half, low, high
    # Everything here is monotonic: the ends tell whether any value can leave the interval.
    ends = _as_reals(round_to(np.array([0.0, 2.0**32 - 1.0]) * scale + base, dtype))
    return base, scale, half, low if not ends[0] >= low else None, high if not ends[1] <= high else None


def _inside(lo: float, hi: float, dtype: str) -> tuple[float, float] | None:
    """Smallest and largest number of the dtype in [lo, hi), as float64; None where there is none."""
    kind = dtype_of(dtype).kind
    if kind == "bool":
        return None
    if kind in ("int", "uint"):
        least, most = integer_range(dtype)
        least, most = max(math.ceil(lo), least), min(math.ceil(hi) - 1, most)
        if least > most:
            return None
        # Beyond 2**53 a float64 stands for integers that it may not hold: the nearest on the inner side.
        low, high = float(least), float(most)
        low = low if int(low) >= least else math.nextafter(low, math.inf)
        high = high if int(high) <= most else math.nextafter(high, -math.inf)
    else:
        largest = float_format(dtype).largest
        high = _number_below(hi, dtype) if hi <= largest else largest
        low = -_number_below(-lo, dtype, itself=True) if lo >= -largest else -largest
    return (low, high) if low <= high and lo <= low and high < hi else None


def _number_below(bound: float, dtype: str, *, itself: bool = False) -> float:
    """The largest number of a float dtype below ``bound``, or equal to it where ``itself`` may count."""
    near = float(_as_reals(round_to(np.array([bound]), dtype))[0])
    if near < bound or (itself and near == bound):
        return near
    if dtype == "float64":
        return math.nextafter(near, -math.inf)
    if not math.isfinite(near):
        return float_format(dtype).largest if bound > 0 else -math.inf
    # The step down from a power of two is that of the binade below it.
    return near - float(spacing(np.array([math.nextafter(near, -math.inf)]), dtype)[0])


def _polynomial(at: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """Horner's rule, highest power first."""
    result: np.ndarray = np.multiply(at, coefficients[0])
    for coefficient in coefficients[1:-1]:
        result += coefficient
        result *= at
    result += coefficients[-1]
    return result


# log 2 = 0x1.62e42feep-1 + 0x1.a39ef35793c76p-33, as in fdlibm's e_log.c.
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_ARTANH = tuple(1.0 / (2 * n + 1) for n in range(11, 0, -1))

# Coefficients of AS 241, highest power first; the last of each denominator is 1.
_CENTRE_OVER = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_CENTRE_UNDER = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_TAIL_OVER = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
_TAIL_UNDER = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
