"""Groups of commands that turn user errors into a message and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from weft.errors import WeftError, nearest

FAILURE, INTERRUPTED = 1, 130


class Commands(TyperGroup):
    """A group whose commands report user errors as one message, never as a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with clean_exit():
            return super().invoke(ctx)


class MadeOnDemand(Commands):
    """A group whose commands are built from functions on first use."""

    kind = "command"

    def names(self) -> list[str]:
        """Return the names of the commands, sorted."""
        raise NotImplementedError

    def make(self, name: str) -> Callable[..., None]:
        """Return the command of a name as a function for Typer."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return self.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; exit with the list of names if it is unknown."""
        name = cmd_name.replace("-", "_")
        if name not in self.names():
            ctx.fail(
                f"{cmd_name!r} is not {self.kind}.{nearest(name, self.names())} There are "
                f"{', '.join(self.names())}."
            )
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=name)(self.make(name))
        return typer.main.get_command(single)


@contextmanager
def clean_exit() -> Iterator[None]:
    """Turn user errors into a message on standard error and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)
    except WeftError as error:
        fail(str(error))
    except MemoryError as error:
        fail(f"the memory does not suffice. {error}".rstrip())
    except OSError as error:
        if error.errno is None or error.errno in (errno.EFAULT, errno.EINVAL):
            raise
        where = f": {error.filename}" if error.filename is not None else ""
        fail(f"{error.strerror}{where}")


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line on standard error, without its source location."""
    typer.echo(f"weft: warning: {message}", err=True)


def fail(message: str, code: int = FAILURE) -> None:
    """Exit with a message on standard error."""
    typer.echo(f"weft: {message}", err=True)
    raise typer.Exit(code)
