"""The command line: `weft doctor`, or `python -m weft doctor`."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="weft",
    help="Programmable graph processing.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def main() -> None:
    """Programmable graph processing on CPUs and GPUs."""


@app.command()
def doctor() -> None:
    """Tell what weft finds on this machine, and what to install for the rest.

    The exit code is 0 if weft can run on the CPU.
    """
    try:
        from weft.doctor import examine, report, works
    except ImportError as error:  # not even NumPy is there
        typer.echo(f"[--] {error}\n     -> pip install --force-reinstall weft")
        raise typer.Exit(1) from error
    findings = examine()
    typer.echo(report(findings))
    raise typer.Exit(0 if works(findings) else 1)
