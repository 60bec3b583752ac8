"""What a person types. One module a command; the heavy rooms are imported only when a command runs."""

from __future__ import annotations

import sys


def main() -> None:
    """The command ``opcli``: every error is one sentence on stderr, with the exit code that it stands for."""
    try:
        from ascend_opcli.cli.interrupts import in_good_order

        with in_good_order():
            from ascend_opcli.cli.streams import edges

            with edges():
                code = _command()
    except KeyboardInterrupt:  # before anything else could hear of it
        sys.stderr.write("opcli: interrupted\n")
        code = 130
    sys.exit(code)


def _command() -> int:
    from ascend_opcli.cli.app import app
    from ascend_opcli.cli.interrupts import asked
    from ascend_opcli.errors import ExitCode, OpcliError

    caught: BaseException
    try:
        app()
        return 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if code != ExitCode.INTERRUPTED:
            return code
        caught, sentence = stop, "interrupted"
    except OpcliError as error:
        caught, code, sentence = error, error.exit_code, str(error)
    except KeyboardInterrupt as error:
        caught, code, sentence = error, ExitCode.INTERRUPTED, "interrupted"
    except Exception as error:
        caught, code = error, ExitCode.SURROUNDINGS
        sentence = f"internal error: {type(error).__name__}: {error} (--debug shows where)"
    if asked():  # an interruption may have turned into anything on its way
        code, sentence = ExitCode.INTERRUPTED, "interrupted"
    if "--debug" in sys.argv:
        import traceback

        traceback.print_exception(caught)
    print(f"opcli: {sentence}", file=sys.stderr)  # it may quote a file or a library: the stream escapes
    return code
