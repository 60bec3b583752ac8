"""What a person types. One module a command; the heavy rooms are imported only when a command runs."""

from __future__ import annotations

import sys


def main() -> None:
    """The command ``opcli``: every error is one sentence on stderr, with the exit code that it stands for."""
    from ascend_opcli.cli.app import app
    from ascend_opcli.errors import ExitCode, OpcliError

    try:
        app()
    except OpcliError as error:
        if "--debug" in sys.argv:
            raise
        print(f"opcli: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("opcli: interrupted", file=sys.stderr)
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (head, less): what it wanted, it has.
        sys.stdout = None
        sys.exit(ExitCode.PASSED)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        print(
            f"opcli: internal error: {type(error).__name__}: {error} (--debug shows where)", file=sys.stderr
        )
        sys.exit(ExitCode.SURROUNDINGS)
