"""What real CANN punishes gives its code; what it does not punish at once is reported as a lifetime fault."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Run

ADD = """
def add():
    global a, b, out, one
    a, b, out, one = tensor([1.0]), tensor([2.0]), tensor([0.0]), scalar(1.0)
    return "aclnnAdd", a, b, one, out
"""


def test_order_of_initialisation(run: Run) -> None:
    ran = run(
        """
        codes = [acl.rt.set_device(0), acl.finalize(), acl.init(), acl.init(), acl.rt.malloc(64, 0)[1]]
        codes += [acl.rt.set_device(3), acl.rt.set_device(0), acl.rt.reset_device(0), acl.rt.reset_device(0)]
        codes += [acl.finalize(), acl.finalize(), acl.init(), acl.finalize_reference()]
        answer(codes)
        """
    )
    assert ran.answer == [
        100001, 100037, 0, 100002, 107002, 107001, 0, 0, 107001, 0, 100037, 0, [0, 0],
    ]  # fmt: skip


def test_aclnn_init_alone_is_enough_and_both_are_no_error(run: Run) -> None:
    ran = run(
        """
        codes = [base.aclnnInit(None), acl.rt.set_device(0), acl.rt.reset_device(0), base.aclnnFinalize()]
        codes += [acl.init(), base.aclnnInit(None), base.aclnnFinalize(), acl.rt.set_device(0), acl.rt.reset_device(0)]
        answer(codes + [acl.finalize()])
        """
    )
    assert ran.answer == [0] * 10
    assert not any(ran.accounts[-1]["live"].values())


def test_phase_1_needs_an_initialised_library(run: Run) -> None:
    ran = run("answer([phase1('aclnnAdd', None, None, None, None)[0], acl.get_recent_err_msg()])")
    assert ran.answer[0] == 561000
    assert "aclInit or aclnnInit was not called" in ran.answer[1]


def test_memory_rules(run: Run) -> None:
    ran = run(
        """
        stream = start()
        host = np.arange(64, dtype=np.uint8)
        p = got(acl.rt.malloc(64, 0))
        at = host.ctypes.data
        codes = dict(
            zero=acl.rt.malloc(0, 0)[1], free_null=acl.rt.free(0), free_inside=acl.rt.free(p + 32),
            wrong_kind=acl.rt.memcpy(p, 64, at, 64, 2), too_long=acl.rt.memcpy(p, 32, at, 64, 1),
            out_of_range=acl.rt.memcpy(p + 1, 64, at, 64, 1), host_to_host=acl.rt.memcpy(at, 64, at, 64, 0),
            default=acl.rt.memcpy(p, 64, at, 64, 4), aligned=p % 64, fill=acl.rt.memset(p, 64, 0, 32),
            free=acl.rt.free(p), twice=acl.rt.free(p), free_host=acl.rt.free_host(at))
        q = got(acl.rt.malloc(100, 0))
        fresh = np.zeros(100, np.uint8)
        ok(acl.rt.memcpy(fresh.ctypes.data, 100, q, 100, 2))
        free, total, code = acl.rt.get_mem_info(1)
        ok(acl.rt.free(q))
        h, code = acl.rt.malloc_host(10)
        ok(acl.rt.free_host(h))
        answer([codes, bool(fresh.any()), total - free, acl.rt.malloc(2**40, 0)[1]])
        stop(stream)
        """
    )
    codes, filled, used, huge = ran.answer
    assert codes == {
        "zero": 100000, "free_null": 100000, "free_inside": 107000, "wrong_kind": 107000, "too_long": 107000,
        "out_of_range": 107000, "host_to_host": 0, "default": 0, "aligned": 0, "fill": 0, "free": 0,
        "twice": 107000, "free_host": 100000,
    }  # fmt: skip
    assert filled  # memory of the device is not zeroed
    assert used == 100
    assert huge == 207001
    assert ran.faults == ["aclrtFree of an address that is not, or no longer, an allocation"] * 2


def test_a_small_device_runs_out_and_addresses_come_back(run: Run) -> None:
    ran = run(
        """
        stream = start()
        first = [acl.rt.malloc(4096, 0) for _ in range(3)]
        ok(acl.rt.free(first[0][0]))
        again = acl.rt.malloc(4096, 0)
        answer([[code for _, code in first], again[1], again[0] == first[0][0]])
        """,
        SIM_CANN_MEMORY="10000",
    )
    assert ran.answer == [[0, 0, 207001], 0, False]
    assert ran.alive == {"streams": 1, "buffers": 2, "devices": 1, "bytes": 8192}


def test_executors_are_used_once(run: Run) -> None:
    ran = run(
        ADD
        + """
stream = start()
_, size, executor = phase1(*add())
codes = [phase2("aclnnAdd", 0, 0, executor, stream), phase2("aclnnAdd", 0, 0, executor, stream),
         base.aclDestroyAclOpExecutor(executor)]
_, size, executor = phase1("aclnnAdd", a, b, one, out)
codes += [base.aclDestroyAclOpExecutor(executor), base.aclDestroyAclOpExecutor(executor)]
_, size, executor = phase1("aclnnAdd", a, b, one, out)
codes += [phase2("aclnnRelu", 0, 0, executor, stream), phase2("aclnnAdd", 0, 0, ctypes.c_void_p(), stream)]
answer([codes, acl.rt.synchronize_stream(stream), acl.get_recent_err_msg().count("aclOpExecutor")])
"""
    )
    assert ran.answer[:2] == [[0, 561103, 561103, 0, 561103, 561103, 161001], 0]
    assert ran.answer[2] == 3
    assert "aclnnAdd: aclOpExecutor used after it was destroyed" in ran.faults
    assert "aclnnRelu was given the executor of aclnnAdd" in ran.faults


def test_objects_must_live_until_phase_2_has_returned(run: Run) -> None:
    ran = run(
        ADD
        + """
stream = start()
_, size, executor = phase1(*add())
ok(one.destroy())
codes = [phase2("aclnnAdd", 0, 0, executor, stream), phase1("aclnnAdd", a, b, one, out)[0], one.destroy()]
message = acl.get_recent_err_msg()
ok(a.destroy())
codes.append(a.destroy())
codes.append(base.aclDestroyTensor(None))
answer([codes, message])
"""
    )
    assert ran.answer[0] == [561103, 561103, 561103, 561103, 0]
    assert "alpha is not a live aclScalar" in ran.answer[1]
    assert "aclTensor destroyed twice" in ran.faults
    assert ran.alive == {"tensors": 2, "streams": 1, "buffers": 3, "devices": 1, "bytes": 12}


def test_a_list_owns_its_members(run: Run) -> None:
    ran = run(
        """
        stream = start()
        a, b = tensor([1.0]), tensor([2.0])
        pair = handles("TensorList", [a, b])
        answer([pair.destroy(), a.destroy(), pair.destroy()])
        """
    )
    assert ran.answer == [0, 561103, 561103]
    assert "tensors" not in ran.alive


def test_workspaces_are_checked(run: Run) -> None:
    ran = run(
        """
        stream = start()
        x = tensor([0.5] * 6, shape=(2, 3), strides=(1, 2))
        out = tensor([0.0] * 6, shape=(2, 3))
        w = got(acl.rt.malloc(64, 0))
        codes = []
        for workspace, given in ((0, 64), (w, 32)):      # a generated operator compares the size
            status, size, executor = phase1("aclnnLogitGrad", x, x, f64(-1), out)
            codes.append([size, phase2("aclnnLogitGrad", workspace, given, executor, stream)])
        none = array("IntArray", i64, [0])
        wide = tensor(np.zeros((1, 64)))
        row = tensor(np.zeros(64))
        status, size, executor = phase1("aclnnReduceSum", wide, none, boolean(False), i32(0), row)
        codes.append([size, phase2("aclnnReduceSum", w, size, executor, stream)])   # too small an allocation
        codes.append(acl.rt.synchronize_stream(stream))
        answer([codes, acl.get_recent_err_msg()])
        """
    )
    assert ran.answer[0] == [[64, 161001], [64, 161002], [512, 0], 507015]
    assert "workspace" in ran.answer[1]


def test_reading_and_freeing_before_the_stream_was_synchronised(run: Run) -> None:
    ran = run(
        ADD
        + """
stream = start()
_, size, executor = phase1(*add())
ok(phase2("aclnnAdd", 0, 0, executor, stream))
early = out.view().tolist()                   # no synchronisation: the old bytes, every time
b.write(np.float32([5]))
ok(acl.rt.free(a.pointer))
late = out.view().tolist()
answer([early, late, acl.rt.synchronize_stream(stream)])
"""
    )
    assert ran.answer == [[0], [6], 0]
    assert ran.faults == [
        "aclrtMemcpy reads a buffer before the stream was synchronised: aclnnAdd is still pending",
        "aclrtMemcpy writes a buffer before the stream was synchronised: aclnnAdd is still pending",
        "aclrtFree of a buffer of 4 bytes before the stream was synchronised: aclnnAdd still uses it",
    ]


def test_a_kernel_on_freed_or_host_memory_raises_an_exception_of_the_device(run: Run) -> None:
    for line in ("ok(acl.rt.free(b.pointer))", "b.handle = base_handle(np.ones(4, np.float32).ctypes.data)"):
        ran = run(
            ADD
            + """
def base_handle(address):
    dims = (i64 * 1)(1)
    return base.aclCreateTensor(dims, u64(1), 0, None, i64(0), ND, dims, u64(1), ctypes.c_void_p(address))
stream = start()
add()
LINE
codes = call(stream, "aclnnAdd", a, b, one, out)
p = got(acl.rt.malloc(64, 0))
answer([codes, acl.get_recent_err_msg(), acl.rt.memset(p, 64, 0, 64)])
""".replace("LINE", line)
        )
        assert ran.answer[0] == [0, 0, 507015]
        assert "out of any live allocation: other" in ran.answer[1]
        assert ran.answer[2] == 507015


def test_contexts_belong_to_threads_and_streams_to_contexts(run: Run) -> None:
    ran = run(
        ADD
        + """
import threading
stream = start()
call_arguments = add()
context, _ = acl.rt.get_context()
codes = []
def elsewhere():
    codes.append(acl.rt.malloc(64, 0)[1])
    codes.append(acl.rt.synchronize_stream(stream))
    codes.append(call(stream, *call_arguments))
    codes.append(acl.get_recent_err_msg() is not None)
    codes.append(acl.rt.set_context(context))
    codes.append(call(stream, *call_arguments))
thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
codes.append(acl.get_recent_err_msg())             # error texts are those of the thread
other, _ = acl.rt.create_context(0)
codes.append([acl.rt.synchronize_stream(stream), acl.rt.destroy_stream(stream), call(stream, *call_arguments)[-1]])
codes.append([acl.rt.set_context(context), acl.rt.destroy_context(other), acl.rt.set_context(other)])
codes.append([acl.rt.destroy_stream(stream), acl.rt.synchronize_stream(stream)])
answer(codes)
"""
    )
    assert ran.answer == [
        107002, 107002, [0, 361001], True, 0, [0, 0, 0], None,
        [107003, 107003, 361001], [0, 0, 107002], [0, 107017],
    ]  # fmt: skip


def test_error_texts_are_cleared_when_read_and_the_newest_is_on_top(run: Run) -> None:
    ran = run(
        """
        start()
        acl.rt.free(0)
        phase1("aclnnAdd", None, None, None, None)
        answer([acl.get_recent_err_msg(), acl.get_recent_err_msg()])
        """
    )
    text, again = ran.answer
    lines = text.splitlines()
    assert lines[0].startswith("EZ1001: [PID: ")
    assert lines[0].endswith("aclnnAddGetWorkspaceSize: self is a null pointer.")
    assert lines[1].startswith("EE1001: ")
    assert again is None


def test_a_leak_of_every_kind_shows_in_the_account(run: Run) -> None:
    ran = run(
        ADD
        + """
stream = start()
phase1(*add())
handles("TensorList", [a]), handles("ScalarList", [one])
array("IntArray", i64, [1]), array("BoolArray", boolean, [True]), array("FloatArray", f32, [1])
acl.rt.create_event(), acl.rt.create_context(0), acl.rt.malloc_host(8)
"""
    )
    assert [account["at"] for account in ran.accounts] == ["exit"]
    assert ran.alive == {
        "tensors": 3, "scalars": 1, "lists": 2, "arrays": 3, "executors": 1, "streams": 1, "events": 1,
        "contexts": 1, "buffers": 3, "host_buffers": 1, "devices": 1, "bytes": 12,
    }  # fmt: skip
    assert ran.accounts[-1]["peak_bytes"] == 12


def test_resetting_a_device_that_still_holds_something_is_reported(run: Run) -> None:
    ran = run("start()\nacl.rt.malloc(64, 0)\nanswer([acl.rt.reset_device(0), acl.finalize()])")
    assert ran.answer == [0, 0]
    assert ran.faults == ["device 0 was reset with 1 buffers, 1 streams and 0 events alive"]


def test_a_fork_after_init_is_refused(run: Run) -> None:
    ran = run(
        """
        import os
        start()
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, str(acl.rt.set_device(0)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        answer(int(os.read(read, 20)))
        """
    )
    assert ran.answer == 507033


def test_tensors_that_cannot_be_made(run: Run) -> None:
    ran = run(
        """
        def make(dims, count, storage, held):
            return base.aclCreateTensor(dims, u64(count), 0, None, i64(0), ND, storage, u64(held), None)
        two, minus = (i64 * 2)(2, 2), (i64 * 2)(2, -1)
        values = [make(None, 2, two, 2), make(minus, 2, two, 2), make(two, 2, None, 1), make(two, 2, two, 2)]
        cells = [base.aclCreateScalar(None, 0), base.aclCreateIntArray(None, u64(1))]
        answer([value is None for value in values + cells])
        """
    )
    assert ran.answer == [True, True, True, False, True, True]


def test_what_a_tensor_says_about_itself(run: Run) -> None:
    ran = run(
        """
        start()
        t = tensor(np.zeros((2, 6)), "float16", shape=(3, 2), strides=(1, 6), offset=2, fmt=ND)
        at = ctypes.c_void_p(t.handle)
        def dims(name):
            pointer, count = ctypes.POINTER(i64)(), u64()
            ok(getattr(base, name)(at, ctypes.byref(pointer), ctypes.byref(count)))
            return pointer[: count.value]
        def value(name, kind):
            cell = kind()
            ok(getattr(base, name)(at, ctypes.byref(cell)))
            return cell.value
        pair = handles("TensorList", [t])
        size = u64()
        ok(base.aclGetTensorListSize(ctypes.c_void_p(pair.handle), ctypes.byref(size)))
        answer([dims("aclGetViewShape"), dims("aclGetViewStrides"), dims("aclGetStorageShape"),
                value("aclGetViewOffset", i64), value("aclGetDataType", i32), value("aclGetFormat", i32), size.value,
                value("aclGetRawTensorAddr", ctypes.c_void_p) == t.pointer])
        """
    )
    assert ran.answer == [[3, 2], [1, 6], [2, 6], 2, 1, 2, 1, True]


def test_accounts_are_json_lines(run: Run) -> None:
    ran = run("stream = start()\nok(acl.rt.set_sys_param_opt(0, 1))\nstop(stream)")
    assert json.loads(json.dumps(ran.accounts)) == ran.accounts
    assert ran.accounts[-1]["deterministic"] == 1
