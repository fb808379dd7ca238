"""`logirec`: the verbs, and how an error becomes one line and an exit code."""

import io
import os
import signal
import sys
import traceback

import typer

from logirec.cli import audit, bench, compare, demo, evaluate, options, prepare, recommend, serve, train
from logirec.errors import Interrupted, LogiRecError, ResourceError
from logirec.memory import ran_out

INTERRUPTED = Interrupted.exit_code
app = typer.Typer(
    name="logirec",
    help="A basket of products in, the products that complete it out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.command)
app.command("prepare")(prepare.command)
app.command("audit")(audit.command)
app.command("train")(train.command)
app.command("evaluate")(evaluate.command)
app.command("compare")(compare.command)
app.command("recommend")(recommend.command)
app.command("serve")(serve.command)
app.add_typer(bench.app, name="bench")


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    """A basket of products in, the products that complete it out. --debug on any verb shows tracebacks."""
    if version:
        from logirec import __version__

        typer.echo(f"logirec {__version__}")
        raise typer.Exit


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # tidied up like Ctrl-C
    # How often torch's threads look out for the next product before they sleep, in place of milliseconds on processors
    # that others may need, the one that makes it among them. Read once, when torch is first imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "4000")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an id may hold what the terminal cannot write
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        code = app(arguments, standalone_mode=False)
        if code == INTERRUPTED:  # typer keeps Ctrl-C to itself
            _say("interrupted")
        sys.stdout.flush()
    except BrokenPipeError:
        options.seen_enough()
        code = 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = _explain(error)
    except KeyboardInterrupt:
        _say("interrupted")
        code = INTERRUPTED
    sys.exit(code or 0)


def _explain(error: Exception) -> int:
    if isinstance(error, LogiRecError):
        _say(str(error))
        return error.exit_code
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if show is not None and code is not None:  # click's own: unknown option, missing argument
        show()
        return int(code)
    if ran_out(error) or isinstance(error, OSError):
        _say(f"the system refused: {_first_line(error)}")
        return ResourceError.exit_code
    _say(f"this is a bug in logirec: {type(error).__name__}: {_first_line(error)}; --debug shows where")
    return 1


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _say(text: str) -> None:
    print(f"logirec: {' '.join(text.split())}", file=sys.stderr)  # noqa: T201
