"""The other operators: between them they take every kind of parameter that the catalog of aclnn knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Run

HEADERS = Path(__file__).parent / "include/aclnnop"
KINDS = {
    "aclTensor", "aclScalar", "aclIntArray", "aclFloatArray", "aclBoolArray", "aclTensorList", "aclScalarList",
    "int64_t", "int32_t", "int8_t", "uint64_t", "bool", "float", "double", "char", "aclDataType",
}  # fmt: skip


def test_the_headers_cover_every_kind_of_parameter() -> None:
    seen = set()
    for header in HEADERS.glob("*.h"):
        for parameters in re.findall(r"GetWorkspaceSize\(([^)]*)\)", header.read_text()):
            seen |= {p.replace("const ", "").replace("*", " ").split()[0] for p in parameters.split(",")}
    assert KINDS - seen == set()


def test_scalars_arrays_lists_and_plain_values(run: Run) -> None:
    ran = run(
        """
        stream = start()
        alive = []
        def t(*args, **kwargs):
            alive.append(tensor(*args, **kwargs))
            return alive[-1]
        def keep(thing):
            alive.append(thing)
            return thing
        def works(op, *args):
            assert call(stream, op, *args) == [0, 0, 0], (op, acl.get_recent_err_msg())
        def refused(op, *args):
            (code,) = call(stream, op, *args)
            return code

        # aclScalar: Add, InplaceAdd; integers beyond what a double holds; broadcast; bool.
        out = t([[0.0] * 3] * 2)
        works("aclnnAdd", t([[1.0], [2.0]]), t([1.0, 2, 3]), keep(scalar(0.5)), out)
        same(out.view(), np.float32([[1.5, 2, 2.5], [2.5, 3, 3.5]]))
        big = t([2**60 + 1], "int64")
        works("aclnnInplaceAdd", big, t([3], "int64"), keep(scalar(2, "int64")))
        assert big.view().tolist() == [2**60 + 7]
        half = t([1.0, 2.0], "bfloat16")
        works("aclnnInplaceAdd", half, t([0.5], "float32"), keep(scalar(1.0)))
        same(half.view(), rounded([1.5, 2.5], "bfloat16"))
        assert refused("aclnnAdd", t([1], "int32"), t([1], "int32"), keep(scalar(0.5)), t([1], "int32")) == 161002
        assert refused("aclnnInplaceAdd", t([1.0]), t([1.0, 2.0]), alive[3]) == 161002

        # aclTensorList in: Cat along a negative axis, one member transposed. Out: SplitTensor with a uint64_t.
        a, b = t([[1, 2], [3, 4]], "int16"), t([[5, 6, 7], [8, 9, 0]], "int16", shape=(2, 3))
        c = t([[10, 20]], "int16", shape=(2, 1), strides=(1, 2))
        out = t(np.zeros((2, 6)), "int16")
        members = handles("TensorList", [a, b, c])
        works("aclnnCat", members, i64(-1), out)
        assert out.view().tolist() == [[1, 2, 5, 6, 7, 10], [3, 4, 8, 9, 0, 20]]
        pieces = [t(np.zeros(s), "int16") for s in ((2, 4), (2, 2))]
        split = handles("TensorList", pieces)
        works("aclnnSplitTensor", out, u64(4), i64(1), split)
        assert pieces[1].view().tolist() == [[7, 10], [0, 20]]
        assert pieces[0].view().tolist() == [[1, 2, 5, 6], [3, 4, 8, 9]]
        assert refused("aclnnSplitTensor", out, u64(0), i64(1), split) == 161002
        assert refused("aclnnCat", members, i64(5), out) == 161002

        # aclIntArray, bool, aclDataType: ReduceSum; its workspace holds the sums.
        x = t(np.arange(24).reshape(2, 3, 4), "float32")
        out = t(np.zeros((2, 1, 4)))
        dims = keep(array("IntArray", i64, [1]))
        status, size, executor = phase1("aclnnReduceSum", x, dims, boolean(True), i32(0), out)
        assert (status, size) == (0, 64)
        ok(base.aclDestroyAclOpExecutor(executor))
        works("aclnnReduceSum", x, dims, boolean(True), i32(0), out)
        same(out.view(), np.arange(24, dtype=np.float32).reshape(2, 3, 4).sum(1, keepdims=True))
        total = t(5, "int64", shape=())
        every = keep(array("IntArray", i64, []))
        works("aclnnReduceSum", t([[1, 2], [3, 4]], "int8"), every, boolean(False), i32(9), total)
        assert total.view() == 10
        assert refused("aclnnReduceSum", x, dims, boolean(True), i32(1), out) == 161002

        # aclDataType: Cast.
        out = t([0, 0, 0], "int8")
        works("aclnnCast", t([1.9, -1.9, 300.0]), i32(2), out)
        assert out.view().tolist() == [1, -1, 44]

        # char*: GeluBackwardV2 in both forms.
        g, x, out = t([1.0, 1.0]), t([0.0, 1.0]), t([0.0, 0.0])
        works("aclnnGeluBackwardV2", g, x, text(b"none"), out)
        assert np.allclose(out.view(), [0.5, 1.0833154706])
        works("aclnnGeluBackwardV2", g, x, text(b"tanh"), out)
        assert np.allclose(out.view(), [0.5, 1.0829640838])
        assert refused("aclnnGeluBackwardV2", g, x, text(b"tan"), out) == 161002
        assert refused("aclnnGeluBackwardV2", g, x, text(None), out) == 161001

        # aclScalarList and an output list: ForeachMulScalarList.
        xs, ys = [t([1.0, 2.0]), t([3.0])], [t([0.0, 0.0]), t([0.0])]
        x_list, y_list = handles("TensorList", xs), handles("TensorList", ys)
        scalars = handles("ScalarList", [scalar(2.0), scalar(10.0)])
        works("aclnnForeachMulScalarList", x_list, scalars, y_list)
        assert [y.view().tolist() for y in ys] == [[2, 4], [30]]

        # int8_t and a demanded format: AvgPool2d.
        image = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
        two, one, none = (keep(array("IntArray", i64, v)) for v in ([2, 2], [1, 1], []))
        x, out = t(image, fmt=NCHW), t(np.zeros((1, 1, 2, 2)), fmt=NCHW)
        zero = keep(array("IntArray", i64, [0, 0]))
        works("aclnnAvgPool2d", x, two, none, zero, boolean(False), boolean(True), i64(0), i8(0), out)
        assert out.view().ravel().tolist() == [2.5, 4.5, 10.5, 12.5]
        out = t(np.zeros((1, 1, 3, 3)), fmt=NCHW)
        works("aclnnAvgPool2d", x, two, two, one, boolean(False), boolean(True), i64(0), i8(1), out)
        assert out.view().ravel().tolist() == [0, 0.75, 0.75, 3, 7.5, 4.5, 3, 6.75, 3.75]
        works("aclnnAvgPool2d", x, two, two, one, boolean(False), boolean(False), i64(0), i8(1), out)
        assert out.view().ravel().tolist() == [0, 1.5, 3, 6, 7.5, 9, 12, 13.5, 15]
        rest = two, two, one, boolean(False), boolean(False), i64(0), i8(1), out
        assert refused("aclnnAvgPool2d", t(image), *rest) == 161002      # ND is not NCHW

        # aclBoolArray, optional inputs and outputs: LayerNormBackward.
        rng = np.random.default_rng(4)
        g, x = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32)
        mean, rstd = x.mean(1, keepdims=True), 1 / x.std(1, keepdims=True)
        normal, w = (x - mean) * rstd, np.float32([1, 2, 3])
        d = g * w
        want = rstd * (d - d.mean(1, keepdims=True) - normal * (d * normal).mean(1, keepdims=True))
        outs = [t(np.zeros((2, 3))), t(np.zeros(3)), t(np.zeros(3))]
        inputs = [t(g), t(x), keep(array("IntArray", i64, [3])), t(mean), t(rstd)]
        mask = keep(array("BoolArray", boolean, [True, True, True]))
        works("aclnnLayerNormBackward", *inputs, t(w), None, mask, *outs)
        for tensor_, expected in zip(outs, (want, (g * normal).sum(0), g.sum(0))):
            assert np.allclose(tensor_.view(), expected, atol=1e-5)
        some = keep(array("BoolArray", boolean, [True, False, False]))
        works("aclnnLayerNormBackward", *inputs, None, None, some, outs[0], None, None)
        assert refused("aclnnLayerNormBackward", *inputs, None, None, mask, outs[0], None, outs[2]) == 161001

        # int32_t: AscendQuant, DivMod. float: NanToNum. aclFloatArray: Resize.
        out = t([0] * 4, "int8")
        x, how = t([0.5, 1.5, 100.0, -200.0]), (boolean(False), text(b"round"), i32(2))
        works("aclnnAscendQuant", x, t([2.0]), t([1.0]), *how, out)
        assert out.view().tolist() == [2, 4, 127, -128]
        out = t([0.0, 0.0])
        for mode, expected in ((0, [3.5, -3.5]), (1, [3, -3]), (2, [3, -4])):
            works("aclnnDivMod", t([7.0, -7.0]), t([2.0]), i32(mode), out)
            assert out.view().tolist() == expected
        out = t([0.0] * 4)
        works("aclnnNanToNum", t([float("nan"), float("inf"), float("-inf"), 5]), f32(1.5), f32(2.5), f32(-3.5), out)
        assert out.view().tolist() == [1.5, 2.5, -3.5, 5]
        scales = keep(array("FloatArray", f32, [1, 1, 2, 2]))
        out = t(np.zeros((1, 1, 4, 4)), fmt=NCHW)
        works("aclnnResize", t([[[[1, 2], [3, 4]]]], fmt=NCHW), scales, text(b"nearest"), out)
        assert out.view()[0, 0].tolist() == [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]

        # In place, all dtypes.
        for dtype in ("float32", "float16", "bfloat16", "int8", "int32", "int64"):
            x, out = t([-1, 0, 2], dtype), t([9, 9, 9], dtype)
            works("aclnnRelu", x, out)
            works("aclnnInplaceRelu", x)
            assert x.view().tolist() == out.view().tolist() == [0, 0, 2]

        # A list owns its members.
        owned = {id(member) for member in (a, b, c, *pieces, *xs, *ys)}
        for thing in (members, split, x_list, y_list, scalars):
            ok(thing.destroy())
        for thing in alive:
            if id(thing) not in owned:
                ok(thing.destroy())
            if isinstance(thing, Tensor):
                ok(acl.rt.free(thing.pointer))
        stop(stream)
        answer("done")
        """
    )
    assert ran.answer == "done"
    assert ran.alive == {}
    assert ran.faults == []


def test_a_repeatable_executor_runs_again_on_other_addresses(run: Run) -> None:
    ran = run(
        """
        stream = start()
        a, b, out = tensor([1.0, 2.0]), tensor([10.0, 20.0]), tensor([0.0, 0.0])
        c, other = tensor([100.0, 200.0]), tensor([0.0, 0.0])
        one = scalar(1.0)
        _, size, executor = phase1("aclnnAdd", a, b, one, out)
        ok(base.aclSetAclOpExecutorRepeatable(executor))
        codes = [phase2("aclnnAdd", 0, 0, executor, stream) for _ in range(2)]
        point = ctypes.c_void_p
        ok(base.aclSetInputTensorAddr(executor, ctypes.c_size_t(1), point(b.handle), point(c.pointer)))
        ok(base.aclSetTensorAddr(executor, ctypes.c_size_t(2), point(out.handle), point(other.pointer)))
        codes.append(phase2("aclnnAdd", 0, 0, executor, stream))
        codes.append(acl.rt.synchronize_stream(stream))
        codes.append(base.aclSetTensorAddr(executor, ctypes.c_size_t(3), point(out.handle), point(out.pointer)))
        codes.append(base.aclDestroyAclOpExecutor(executor))
        answer([codes, out.view().tolist(), other.view().tolist()])
        for t in (a, b, c, out, other):
            t.release()
        ok(one.destroy())
        stop(stream)
        """
    )
    assert ran.answer == [[0, 0, 0, 0, 161002, 0], [11, 22], [101, 202]]
    assert ran.alive == {}
