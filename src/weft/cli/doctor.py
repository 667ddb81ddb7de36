"""`weft doctor`: reports what is installed, which devices are available, and what is missing."""

from __future__ import annotations

import typer


def doctor() -> None:
    """Report what weft finds on this machine, and what to install for the rest.

    The exit code is 0 if weft can run on the CPU.
    """
    try:
        from weft.inspect.doctor import examine, report, works
    except ImportError as error:  # not even NumPy is installed
        typer.echo(f"[--] {error}\n     -> pip install --force-reinstall weft")
        raise typer.Exit(1) from error
    findings = examine()
    typer.echo(report(findings))
    raise typer.Exit(0 if works(findings) else 1)
