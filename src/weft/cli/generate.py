"""`weft generate`: generates graphs, with one command per function of `weft.generators`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.commands import MadeOnDemand
from weft.cli.files import write_graph
from weft.cli.progress import working
from weft.cli.signatures import (
    first_sentence,
    own_parameters,
    parameters,
    value_of,
    with_signature,
)
from weft.errors import ConfigError

Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        help="File to write; its suffix says the format.",
        show_default=False,
    ),
]
WEIGHTS_HELP = (
    "Edge weights: int (1 to 64), float (0 to 1), or LOW:HIGH for a range; none if left out."
)
COMMUNITY_HELP = "The size of every community (1024 if left out), or SIZE,SIZE,... of all of them."


class Kinds(MadeOnDemand):
    """The functions of `weft.generators` as commands."""

    kind = "a kind of graph"

    def names(self) -> list[str]:
        """Return the kinds of graphs."""
        import weft

        return sorted(weft.generators.__all__)

    def make(self, name: str) -> Callable[..., None]:
        """Return the command that generates one kind."""
        import weft

        function = getattr(weft.generators, name)

        def generate(output: Output, **given: Any) -> None:
            options = {key: value for key, value in given.items() if value is not None}
            if "weights" in options:
                options["weights"] = weights_of(options["weights"])
            if "community" in options:
                options["community"] = sizes_of(options["community"])
            with working(f"Generating {name}"):
                g = function(**options)
            write_graph(g, output)
            typer.echo(f"{output}: {g.num_vertices:,} vertices, {g.num_edges:,} edges", err=True)

        made = parameters(
            function,
            skip=("device",),
            text=("weights", "community"),
            arguments=True,
            overrides={"weights": WEIGHTS_HELP, "community": COMMUNITY_HELP},
        )
        return with_signature(
            generate, [*made, *own_parameters(generate)], first_sentence(function)
        )


def weights_of(text: str) -> str | tuple[float, float]:
    """Parse the weights given on a command line.

    Examples
    --------
    >>> weights_of("int"), weights_of("1:10"), weights_of("0.5:2")
    ('int', (1, 10), (0.5, 2))
    """
    low, colon, high = text.partition(":")
    if not colon:
        return text
    ends = (value_of(low), value_of(high))
    if not all(isinstance(end, int | float) for end in ends):
        raise ConfigError(f"--weights {text!r} cannot be read. Expected int, float or LOW:HIGH.")
    return ends


def sizes_of(text: str) -> int | list[int]:
    """Parse the size of communities given on a command line, or a list of sizes.

    Examples
    --------
    >>> sizes_of("100"), sizes_of("30,70")
    (100, [30, 70])
    """
    sizes = [value_of(part) for part in text.split(",")]
    if not all(type(size) is int for size in sizes):
        raise ConfigError(f"--community {text!r} cannot be read. Expected SIZE or SIZE,SIZE,...")
    return sizes if len(sizes) > 1 else sizes[0]
