"""The five operators in C against formulas written again in NumPy: dtypes, strided views, edges, order of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Run

NULLPTR, INVALID, TILING, NO_KERNEL = 161001, 161002, 561002, 561003


def test_logit_grad_in_every_dtype_and_layout(run: Run) -> None:
    ran = run(
        """
        stream = start()
        rng = np.random.default_rng(1)
        for dtype in ("float32", "float16", "bfloat16"):
            for eps in (-1.0, 0.0, 0.1, 0.5, 0.7, float("nan"), -0.0):
                x = rounded(np.r_[rng.uniform(-0.2, 1.2, 40), 0, -0.0, 1, 0.5, np.nan, np.inf, -np.inf, 0.1], dtype)
                dy = rounded(np.r_[rng.normal(size=40), 1, 1, 0, 5, 1, 1, 1, 1], dtype)
                wide, g, e = x.astype(np.float32), dy.astype(np.float32), np.float32(eps)
                low, fill = (e, np.float32(0)) if e >= 0 else (np.float32(0), np.float32("nan"))
                with np.errstate(all="ignore"):
                    q = g / (wide * (wide * np.float32(-1) + np.float32(1)))
                    want = rounded(np.where((low <= wide) & (wide <= np.float32(1) - low), q, fill), dtype)
                tensors = [Tensor(x), Tensor(dy), Tensor(np.zeros_like(x))]
                assert call(stream, "aclnnLogitGrad", tensors[0], tensors[1], f64(eps), tensors[2]) == [0, 0, 0]
                same(tensors[2].view(), want)
                for t in tensors:
                    t.release()

        # A transposed x, a padded dy with an offset, an output with gaps: the workspace holds two copies.
        x = rng.uniform(0.1, 0.9, (3, 5)).astype(np.float32)
        room = np.full(40, 7, np.float32)
        dy_view = room[2:].reshape(-1)
        a = Tensor(x, (5, 3), (1, 5))
        b = Tensor(room, (5, 3), (7, 2), 2)
        c = Tensor(np.full(64, -5, np.float32), (5, 3), (8, 2), 1)
        status, size, executor = phase1("aclnnLogitGrad", a, b, f64(-1), c)
        assert (status, size) == (0, 128)
        workspace = got(acl.rt.malloc(size, 0))
        assert phase2("aclnnLogitGrad", workspace, size, executor, stream) == 0
        ok(acl.rt.synchronize_stream(stream))
        xt = x.T
        same(c.view(), np.float32(7) / (xt * (xt * np.float32(-1) + np.float32(1))))
        assert np.count_nonzero(c.fetch() == -5) == 64 - 15
        ok(acl.rt.free(workspace))
        for t in (a, b, c):
            t.release()

        # Rank 0 and empty.
        for shape in ((), (0, 3)):
            ts = [Tensor(np.full(shape, 0.5, np.float32)) for _ in range(3)]
            assert call(stream, "aclnnLogitGrad", ts[0], ts[1], f64(-1), ts[2]) == [0, 0, 0]
            same(ts[2].view(), np.full(shape, 2, np.float32))
            for t in ts:
                t.release()
        stop(stream)
        answer("done")
        """
    )
    assert ran.answer == "done"
    assert ran.alive == {}
    assert ran.faults == []


def test_a_short_dy_is_read_out_of_bounds_as_in_the_real_operator(run: Run) -> None:
    ran = run(
        """
        stream = start()
        x, out = tensor([0.5] * 8), tensor([0.0] * 8)
        inside = tensor([1.0] * 4, size=64)       # the allocation is larger than the tensor: nobody notices
        outside = tensor([1.0] * 4)
        codes = [call(stream, "aclnnLogitGrad", x, dy, f64(-1), out) for dy in (inside, outside)]
        answer([codes, acl.get_recent_err_msg(), acl.rt.synchronize_stream(stream)])
        """
    )
    codes, message, again = ran.answer
    assert codes == [[0, 0, 0], [0, 0, 507015]]
    assert "dy or out is smaller than x" in message
    assert again == 507015  # the context stays unusable


def test_elu_backward(run: Run) -> None:
    ran = run(
        """
        stream = start()
        rng = np.random.default_rng(2)
        special = [0, -0.0, np.nan, np.inf, -np.inf, -1, 1]
        for dtype in ("float32", "float16", "bfloat16"):
            for alpha, scale, inner, is_result in ((1, 1, 1, True), (1.5, 0.5, 2, False), (0, 3, 0, False),
                                                   (float("nan"), 1, 1, True), (2, 2, -1, False)):
                x = rounded(np.r_[rng.normal(size=33), special], dtype)
                g = rounded(np.r_[rng.normal(size=33), [1] * 7], dtype)
                wx, wg = x.astype(np.float32), g.astype(np.float32)
                a, s, i = map(np.float32, (alpha, scale, inner))
                with np.errstate(all="ignore"):
                    low = (wg * i) * (wx + a * s) if is_result else ((wg * i) * (a * s)) * np.exp(wx * i)
                    want = rounded(np.where(wx <= 0, low, wg * s), dtype)
                ts = [Tensor(g), Tensor(x), Tensor(np.zeros_like(x))]
                cells = [scalar(v) for v in (alpha, scale, inner)]
                assert call(stream, "aclnnEluBackward", ts[0], *cells, boolean(is_result), ts[1], ts[2]) == [0, 0, 0]
                same(ts[2].view(), want, ulp=2 if dtype == "float32" else 1)
                for t in ts:
                    t.release()
                for cell in cells:
                    ok(cell.destroy())
        # Another dtype for gradInput, rounded to gradOutput's first; alpha as uint8; strided.
        g, x = tensor([[1.5, -2], [3, 4]], shape=(2, 2), strides=(1, 2)), tensor([[-1, 1], [2, -3]])
        cells = [scalar(1, "uint8"), scalar(1, "float64"), scalar(1, "int64")]
        for dtype in ("float16", "float64", "complex64"):
            out = Tensor(np.full((2, 2), 9, dtype))
            assert call(stream, "aclnnEluBackward", g, *cells, boolean(True), x, out) == [0, 0, 0]
            assert np.array_equal(out.view(), np.array([[0, 3], [-2, -8]], dtype)), out.view()
            out.release()
        g16, x16, out = tensor([1 + 2**-10], "float16"), tensor([1], "float16"), tensor([0])
        wide = scalar(1 + 2**-10)
        assert call(stream, "aclnnEluBackward", g16, cells[0], wide, cells[2], boolean(True), x16, out) == [0, 0, 0]
        assert out.view()[0] == 1 + 2**-9  # without 2**-20: the kernel's result is float16
        for thing in (g, x, g16, x16, out):
            thing.release()
        for cell in (*cells, wide):
            ok(cell.destroy())
        stop(stream)
        answer("done")
        """
    )
    assert ran.answer == "done"
    assert ran.alive == {}


def test_batch_norm_elemt_backward(run: Run) -> None:
    ran = run(
        """
        stream = start()
        # The values that CUDA gives for this call (kept in op-plugin's tests): N is the sum 15, not 5.
        ones = np.ones((1, 3, 1), np.float32)
        values = dict(mean=[8, 5, 9], invstd=[2, 1, 2], weight=[1, 1, 4], sumDy=[2, 2, 6], sumDyXmu=[2, 3, 11])
        ts = [Tensor(ones), Tensor(ones), *(tensor(v) for v in values.values())]
        ts += [tensor([5, 5, 5], "int32"), Tensor(ones * 0)]
        assert call(stream, "aclnnBatchNormElemtBackward", *ts) == [0, 0, 0]
        assert np.allclose(ts[-1].view().ravel(), [9.2, 1.6667, 192.5333], atol=1e-4)
        for t in ts:
            t.release()

        rng = np.random.default_rng(3)
        for dtype, with_weight, counter in (("float32", True, "float32"), ("float16", True, "float16"),
                                            ("float16", False, "int32"), ("bfloat16", True, "int32")):
            shape, c = (2, 3, 5), 3
            g, x = (rounded(rng.normal(size=shape), dtype) for _ in range(2))
            small = [rounded(rng.uniform(0.5, 2, c), dtype) for _ in range(5)]
            n = np.array([[3, 4]]).astype(counter)
            w = [a.astype(np.float32).reshape(1, c, 1) for a in small]
            f = np.float32
            mean_dy, mean_xmu = w[3] / f(7), w[4] / f(7)
            half = dtype == "float16" and with_weight
            if half:
                mean_dy, mean_xmu = (m.astype(np.float16).astype(f) for m in (mean_dy, mean_xmu))
            weight = w[2] if with_weight else np.ones_like(w[2])
            want = ((g.astype(f) - mean_dy) - (x.astype(f) - w[0]) * (mean_xmu * (w[1] * w[1]))) * (w[1] * weight)
            ts = [Tensor(g), Tensor(x), *(Tensor(a) for a in small), Tensor(n), Tensor(np.zeros_like(g))]
            args = [None if i == 4 and not with_weight else t for i, t in enumerate(ts)]
            assert call(stream, "aclnnBatchNormElemtBackward", *args) == [0, 0, 0]
            same(ts[-1].view(), rounded(want, dtype))
            for t in ts:
                t.release()
        # Mixed dtypes, a strided input, an output of another dtype; N = 0 gives Inf and NaN.
        x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
        ts = [Tensor(x), Tensor(np.ascontiguousarray(x.transpose(2, 1, 0)), (2, 3, 2), (1, 2, 6)),
              tensor([0, 1, 2], "bfloat16"), tensor([1, 1, 1], "float16"), tensor([1, 1, 1]), tensor([0, 0, 1]),
              tensor([0, 0, 0]), tensor([0.0]),
              Tensor(np.zeros((2, 3, 2), np.float16))]
        assert call(stream, "aclnnBatchNormElemtBackward", *ts) == [0, 0, 0]
        assert np.isnan(ts[-1].view()).all()
        for t in ts:
            t.release()
        stop(stream)
        answer("done")
        """
    )
    assert ran.answer == "done"
    assert ran.alive == {}


def test_threshold_backward(run: Run) -> None:
    script = """
        stream = start()
        t0, t1, tnan = scalar(0.0), scalar(1.5), scalar(float("nan"))
        nan, inf = float("nan"), float("inf")
        for dtype in ("float32", "float16", "bfloat16"):
            g, x = tensor([nan, -2, inf, 3, 4, nan], dtype), tensor([-1, 0, -1, 2, nan, 1.5], dtype)
            out = tensor([9] * 6, dtype)
            wants = [nan, -0.0, nan, 3, 4, nan], [0, 0, 0, 3, 4, 0], [nan, -2, inf, 3, 4, nan]
            for t, want in zip((t0, t1, tnan), wants):
                assert call(stream, "aclnnThresholdBackward", g, x, t, out) == [0, 0, 0]
                same(out.view(), rounded(want, dtype))
            assert call(stream, "aclnnThresholdBackward", g, x, t0, out) == [0, 0, 0]
            assert np.signbit(out.view()[1])
            for thing in (g, x, out):
                thing.release()
        for dtype in ("int32", "int8", "uint8"):
            g, x, out = tensor([5, 6, 7], dtype), tensor([0, 1, 2], dtype), tensor([9] * 3, dtype)
            for t, want in ((t0, [0, 6, 7]), (t1, [0, 0, 7])):
                assert call(stream, "aclnnThresholdBackward", g, x, t, out) == [0, 0, 0]
                assert out.view().tolist() == want
            for thing in (g, x, out):
                thing.release()
        # int32 through float32 loses bits above 2**24, and at the top it must not wrap.
        g, x, out = tensor([2**24 + 1, 2**31 - 1], "int32"), tensor([9, 9], "int32"), tensor([0, 0], "int32")
        assert call(stream, "aclnnThresholdBackward", g, x, t1, out) == [0, 0, 0]
        assert out.view().tolist() == [2**24, 2**31 - 1]
        for thing in (g, x, out):
            thing.release()
        # Broadcast, and a transposed self.
        g, out = tensor([1, 2, 3]), tensor([[9] * 3] * 2)
        x = tensor([[0, 2], [2, 0], [2, 2]], shape=(2, 3), strides=(1, 2))
        assert call(stream, "aclnnThresholdBackward", g, x, t1, out) == [0, 0, 0]
        assert out.view().tolist() == [[0, 2, 3], [1, 0, 3]]
        for thing in (g, x, out):
            thing.release()
        g, x, out = (tensor([7, 8], "int64") for _ in range(3))
        answer([call(stream, "aclnnThresholdBackward", g, x, t, out) for t in (t0, t1)])
        """
    assert run(script).answer == [[INVALID], [INVALID]]
    assert run(script, SIM_CANN_SOC="Ascend950PR_9599").answer == [[0, 0, 0], [INVALID]]


def test_amp_update_scale(run: Run) -> None:
    ran = run(
        """
        stream = start()
        rows = []
        def amp(dtype, scale, tracker, found, growth, backoff, interval):
            ts = [tensor([scale], dtype), tensor([tracker], "int32"), tensor([found], dtype),
                  tensor([9], dtype), tensor([9], "int32")]
            codes = call(stream, "aclnnAmpUpdateScale", *ts[:3], f64(growth), f64(backoff), i64(interval), *ts[3:])
            rows.append([codes[-1], float(ts[3].view()[0]), int(ts[4].view()[0])])
            for t in ts:
                t.release()
        amp("float32", 65536, 900, 0, 2, 0.5, 1000)
        amp("float32", 65536, 999, 0, 2, 0.5, 1000)
        amp("float32", 65536, 1000, 0, 2, 0.5, 1000)       # past the interval: never grows
        amp("float32", 8, 5, 1, 2, 0.5, 10)
        amp("float32", 8, 5, float("nan"), 2, 0.5, 10)     # NaN counts as found
        amp("float32", 8, 5, -0.0, 2, 0.5, 10)             # minus zero does not
        amp("float32", 3e38, 9, 0, 2, 0.5, 10)             # would overflow: the scale stays
        amp("float16", 40000, 9, 0, 2, 0.5, 10)            # finite in float32, Inf as stored
        amp("bfloat16", 3, 2**31 - 1, 0, 2, 0.5, 10)       # the tracker wraps
        answer(rows)
        stop(stream)
        """
    )
    big = pytest.approx(3e38, rel=1e-6)
    assert ran.answer[:6] == [
        [0, 65536, 901],
        [0, 131072, 0],
        [0, 65536, 1001],
        [0, 4, 0],
        [0, 4, 0],
        [0, 8, 6],
    ]
    assert ran.answer[6:] == [[0, big, 0], [0, float("inf"), 0], [0, 3, -(2**31)]]
    assert ran.alive == {}


# Every refusal with the faults that come after it in the order of checks present at the same time.
REFUSALS = {
    "logit: x null before dtype": ("aclnnLogitGrad", "None, t('float16'), f64(-1), t()", NULLPTR),
    "logit: dy null": ("aclnnLogitGrad", "t(), None, f64(-1), t('int32')", NULLPTR),
    "logit: out null": ("aclnnLogitGrad", "t(), t('float16'), f64(-1), None", NULLPTR),
    "logit: dtypes differ": ("aclnnLogitGrad", "t(), t('float16'), f64(-1), t()", INVALID),
    "logit: dtype": ("aclnnLogitGrad", "t('int32'), t('int32'), f64(-1), t('int32')", INVALID),
    "logit: double": ("aclnnLogitGrad", "t('float64'), t('float64'), f64(-1), t('float64')", INVALID),
    "logit: private format": ("aclnnLogitGrad", "t(fmt=29), t(), f64(-1), t()", INVALID),
    "elu: null": ("aclnnEluBackward", "t('int32'), None, s(), s(), boolean(True), t(), t()", NULLPTR),
    "elu: null gradInput": (
        "aclnnEluBackward",
        "t('int32'), s(), s(), s(), boolean(True), t(), None",
        NULLPTR,
    ),
    "elu: dtypes differ": (
        "aclnnEluBackward",
        "t(), s(), s(), s(), boolean(True), t('float16'), t()",
        INVALID,
    ),
    "elu: dtype": ("aclnnEluBackward", "t('int32'), s(), s(), s(), boolean(True), t('int32'), t()", INVALID),
    "elu: complex alpha": (
        "aclnnEluBackward",
        "t(), s('complex64'), s(), s(), boolean(False), t(), t()",
        INVALID,
    ),
    "elu: gradInput int32": (
        "aclnnEluBackward",
        "t(), s(), s(), s(), boolean(False), t(), t('int32')",
        INVALID,
    ),
    "elu: shape": ("aclnnEluBackward", "t(), s(), s(), s(), boolean(False), t(shape=(3,)), t()", INVALID),
    "elu: rank": ("aclnnEluBackward", "r, s(), s(), s(), boolean(False), r, r", INVALID),
    "elu: alpha": ("aclnnEluBackward", "t(), s(value=-1), s(), s(), boolean(True), t(), t()", INVALID),
    "elu: alpha, no result": ("aclnnEluBackward", "t(), s(value=-1), s(), s(), boolean(False), t(), t()", 0),
    "batch norm: null": ("aclnnBatchNormElemtBackward", "b, b, c, c, c, None, c, c, b", NULLPTR),
    "batch norm: counter int8": ("aclnnBatchNormElemtBackward", "b, b, c, c, c, c, c, t('int8'), b", INVALID),
    "batch norm: input rank 1": ("aclnnBatchNormElemtBackward", "b, c, c, c, c, c, c, c, b", INVALID),
    "batch norm: channel 0": (
        "aclnnBatchNormElemtBackward",
        "*[t(shape=(2, 0))] * 2, c, c, c, c, c, c, b",
        INVALID,
    ),
    "batch norm: mean": ("aclnnBatchNormElemtBackward", "b, b, t(shape=(3,)), c, c, c, c, c, b", INVALID),
    "batch norm: empty": ("aclnnBatchNormElemtBackward", "e, e, c, c, c, c, c, c, e", 0),
    "batch norm: no weight": ("aclnnBatchNormElemtBackward", "b, b, c, c, None, c, c, c, b", 0),
    "threshold: threshold null": ("aclnnThresholdBackward", "None, t(), None, t()", NULLPTR),
    "threshold: dtypes": ("aclnnThresholdBackward", "t(), t('float16'), s(), t()", INVALID),
    "threshold: out dtype": ("aclnnThresholdBackward", "t(), t(), s(), t('float16')", INVALID),
    "threshold: broadcast": ("aclnnThresholdBackward", "t(), t(shape=(3,)), s(), t()", INVALID),
    "threshold: out shape": ("aclnnThresholdBackward", "t(), t(shape=(3, 1)), s(), t()", INVALID),
    "threshold: empty": ("aclnnThresholdBackward", "t(shape=(0,)), t(shape=(0,)), s(), t(shape=(0,))", 0),
    "amp: null": ("aclnnAmpUpdateScale", "o, k, None, f64(2), f64(2), i64(0), o, k", NULLPTR),
    "amp: dtypes": ("aclnnAmpUpdateScale", "o, o, o, f64(2), f64(2), i64(0), o, k", INVALID),
    "amp: interval": ("aclnnAmpUpdateScale", "o, k, o, f64(2), f64(2), i64(0), o, k", TILING),
    "amp: interval past int32": ("aclnnAmpUpdateScale", "o, k, o, f64(2), f64(2), i64(2**31), o, k", TILING),
    "amp: shape": ("aclnnAmpUpdateScale", "c, k, o, f64(2), f64(2), i64(1), o, k", TILING),
    "amp: rank 0": ("aclnnAmpUpdateScale", "t(shape=()), k, o, f64(2), f64(2), i64(1), o, k", 0),
}


def test_refusals_in_the_order_of_the_checks(run: Run) -> None:
    script = """
        stream = start()
        def t(dtype="float32", shape=(2,), fmt=2):
            return Tensor(np.ones(shape, BFLOAT16 if dtype == "bfloat16" else dtype), fmt=fmt)
        def s(dtype="float32", value=1):
            return scalar(value, dtype)
        b, c, o, k, r = t(shape=(3, 2)), t(), t(shape=(1,)), t("int32", (1,)), t(shape=(1,) * 9)
        e = t(shape=(0, 2))
        found = {}
        for name, (op, arguments) in CALLS.items():
            status, size, executor = phase1(op, *eval("[" + arguments + "]"))
            message = acl.get_recent_err_msg() or ""
            found[name] = [status, message]
            if not status:
                ok(base.aclDestroyAclOpExecutor(executor))
        answer(found)
        """.replace("CALLS", repr({name: [op, arguments] for name, (op, arguments, _) in REFUSALS.items()}))
    found = run(script).answer
    assert {name: status for name, (status, _) in found.items()} == {
        name: row[2] for name, row in REFUSALS.items()
    }
    for name, (status, message) in found.items():
        if status in (NULLPTR, INVALID):
            assert message.startswith("EZ1001: [PID: "), name
            assert REFUSALS[name][0] in message, name
    assert "dy is a null pointer" in found["logit: dy null"][1]


def test_products_decide_what_is_there(run: Run) -> None:
    script = """
        stream = start()
        x, o, k = tensor([0.5]), tensor([1]), tensor([1], "int32")
        h = tensor([0.5], "bfloat16")
        one = scalar(1)
        answer([phase1("aclnnLogitGrad", x, x, f64(-1), x)[0],
                phase1("aclnnAmpUpdateScale", o, k, o, f64(2), f64(2), i64(3), o, k)[0],
                phase1("aclnnEluBackward", h, one, one, one, boolean(False), h, h)[0],
                phase1("aclnnThresholdBackward", h, h, one, h)[0]])
        """
    for soc, expected in {
        "Ascend910B2": [0, 0, 0, 0],
        "Ascend910_9391": [0, 0, 0, 0],
        "Ascend310P3": [NO_KERNEL, NO_KERNEL, INVALID, INVALID],
    }.items():
        assert run(script, SIM_CANN_SOC=soc).answer == expected, soc


def test_half_and_bfloat_conversions_agree_with_numpy(run: Run) -> None:
    ran = run(
        """
        stream = start()
        rng = np.random.default_rng(5)
        bits = np.r_[rng.integers(0, 2**32, 20000, dtype=np.uint64).astype(np.uint32),
                     np.arange(0x33000000 - 40, 0x33000000 + 40, dtype=np.uint32),
                     np.arange(0x38800000 - 9000, 0x38800000 + 9000, 7, dtype=np.uint32),
                     np.arange(0x477fe000, 0x47801000, 64, dtype=np.uint32)]
        values = bits.view(np.float32)
        source = Tensor(values)
        for dtype, code in ((np.dtype(np.float16), 1), (BFLOAT16, 27)):
            narrow, back = Tensor(np.zeros(values.size, dtype)), Tensor(np.zeros(values.size, np.float32))
            assert call(stream, "aclnnCast", source, i32(code), narrow) == [0, 0, 0]
            assert call(stream, "aclnnCast", narrow, i32(0), back) == [0, 0, 0]
            with np.errstate(over="ignore", invalid="ignore"):
                want = values.astype(dtype)
            finite = ~np.isnan(values)
            assert np.array_equal(narrow.view().view(np.uint16)[finite], want.view(np.uint16)[finite])
            assert np.array_equal(back.view()[finite], want.astype(np.float32)[finite])
            assert np.isnan(back.view()[~finite]).all()
        answer("done")
        """
    )
    assert ran.answer == "done"
