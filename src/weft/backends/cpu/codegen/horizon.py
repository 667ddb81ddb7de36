"""An ordered relaxation within a horizon, see `weft.plan.horizon`.

The horizon is chosen when the frontier first has many arcs: messages of some of them are sampled.
The arcs of a row whose messages lie within it are listed first, without branches, since whether one
does is as good as random. What they touch is fetched, and then they are relaxed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand
from weft.backends.cpu.codegen.expressions import cast
from weft.backends.cpu.codegen.kernel import Kernel
from weft.backends.cpu.codegen.pairs import overlay_pairs
from weft.backends.cpu.codegen.site import Site
from weft.ir.ops import FLOAT64, Step
from weft.plan.sweeps import Sweep

SAMPLES = 256  # messages that the horizon is chosen by
WIDE = 2048  # arcs of a frontier that they are taken from, at least
LISTED = 512  # arcs of a row that are listed at a time
AHEAD = 24  # arcs ahead of a pull that are fetched
HELD_BACK = 4  # a bit of a vertex's flags


class Horizon:
    """Renders what a horizon adds to an ordered sweep."""

    def __init__(self, kernel: Kernel, sweep: Sweep) -> None:
        self.kernel, self.sweep, self.step = kernel, sweep, sweep.steps[0]
        self.out = kernel.out
        use = kernel.args.use
        self.offsets, self.targets = use("offsets", "out"), use("targets", "out")
        self.samples, self.kept = use("samples"), use("kept")

    def begin(self) -> None:
        """Load the state of a paused run."""
        self.out.line("horizon = steering[2]")
        self.out.line("kept_base = np.uint64(tid * LOCAL)")
        self.out.line(f"far_base = kept_base + np.uint64({LISTED})")

    def save(self) -> None:
        """Save the state of a paused run, by one thread."""
        self.out.line("steering[2] = horizon")

    def choose(self) -> None:
        """Choose the horizon, if the frontier is wide enough for the first time."""
        out = self.out
        with out.block("if horizon != horizon:"):
            out.line("around = 0")
            with out.block(f"for j in range(min(size, {SAMPLES})):"):
                out.line("u = np.uint64(j) if dense else np.uint64(queue_a[j])")
                out.line(f"around += np.int64({self.offsets}[u + ONE] - {self.offsets}[u])")
            with out.block(f"if around >= {WIDE}:"):
                with out.block("if tid == 0:"):
                    self._sample()
                self.kernel.barrier()
                out.line("horizon = steering[4]")

    def _sample(self) -> None:
        out = self.out
        with out.block(f"for j in range({SAMPLES}):"):
            out.line(f"u = np.uint64(j * size // {SAMPLES})")
            out.line("u = u if dense else np.uint64(queue_a[u])")
            out.line(f"first, end = {self.offsets}[u], {self.offsets}[u + ONE]")
            out.line("rank = np.inf")
            with out.block("if end > first:"):
                out.line("s = first + np.uint64(j) * np.uint64(7919) % (end - first)")
                out.line(f"v = np.uint64({self.targets}[s])")
                out.line(f"rank = {self._rank(self._renderer())}")
            out.line(f"{self.samples}[j] = rank")
        out.line(f"carray({self.samples}, {SAMPLES}).sort()")
        chosen = f"{self.samples}[np.int64(steering[3] * {SAMPLES})]"
        out.line(f"rank = {chosen}")
        # Not where threads that have just begun may still load the horizon.
        out.line("steering[4] = rank if rank == rank else np.inf")

    def _renderer(self) -> BlockRenderer:
        site = self.kernel.site("out", "s")
        overlay_pairs(self.kernel, site)
        return self.kernel.renderer(site, self.step, set())

    def _rank(self, renderer: BlockRenderer) -> str:
        """Render the message of the arc at hand; return the priority that it would give to v."""
        renderer.prepare(self.step.body)
        messages = renderer.block(self.step.body)
        site = renderer.scope.site
        fresh = dict(zip(self.step.into, messages, strict=False))
        return priority_of(self.kernel, self.step, site, fresh)

    def note_sender(self) -> None:
        """Find how far u sends; record that it withheld messages.

        A vertex beyond the horizon withholds nothing.
        """
        site = self.kernel.site("out", "s", v="u")
        overlay_pairs(self.kernel, site)
        self.out.line(f"rank = {priority_of(self.kernel, self.step, site, {})}")
        self.out.line("reach = horizon if rank <= horizon else np.inf")
        with self.out.block("if reach < np.inf:"):
            self.out.line(f"sync_or(flags, u, np.uint8({HELD_BACK}))")

    @contextmanager
    def arcs_within(self, renderer: BlockRenderer, places: list[str]) -> Iterator[None]:
        """Open a loop over the arcs s of u, from `first` to `end`, that lie within the horizon."""
        out = self.out
        with out.block("while first < end:"):
            out.line(f"stop = min(first + np.uint64({LISTED}), end)")
            out.line("listed = np.uint64(0)")
            nested = self._renderer()
            nested.known = dict(renderer.known)
            with out.block("for s in range(first, stop):"):
                out.line(f"{self.kept}[kept_base + listed] = s")
                out.line(f"{self.kept}[far_base + listed] = np.uint64({self.targets}[s])")
                rank = self._rank(nested)
                out.line(f"listed += np.uint64(0) if {rank} > reach else ONE")
            out.line("first = stop")
            with out.block("for k in range(listed):"):
                out.line(f"w = {self.kept}[far_base + k]")
                for place in places:
                    out.line(f"prefetch({place})")
            with out.block("for k in range(listed):"):
                out.line(f"s = {self.kept}[kept_base + k]")
                out.line(f"v = {self.kept}[far_base + k]")
                yield

    def pull_row(
        self, improve: Callable[[Kernel, Step, BlockRenderer, list[Operand]], None]
    ) -> Site:
        """Render a pull of v from withholding vertices; sets `hits` if one improved it."""
        out = self.out
        site = self.kernel.site("out", "s")
        overlay_pairs(self.kernel, site)
        out.line("hits = False")
        out.line(f"first, end = {self.offsets}[v], {self.offsets}[v + ONE]")
        out.line("looked += np.int64(end - first)")
        with out.block("for s in range(first, end):"):
            ahead = f"min(s + np.uint64({AHEAD}), np.uint64(arcs - 1))"
            out.line(f"w = np.uint64({self.targets}[{ahead}])")
            for place in self._read_places():
                out.line(f"prefetch({place})")
            out.line(f"u = np.uint64({self.targets}[s])")
            with out.block(f"if flags[u] & np.uint8({HELD_BACK}):"):
                renderer = self.kernel.renderer(site, self.step, set())
                renderer.prepare(self.step.body)
                messages = renderer.block(self.step.body)
                improve(self.kernel, self.step, renderer, messages)
                out.line("hits = hits or hit")
        return site

    def fetch_rows(self, item: str) -> None:
        """Fetch what the messages of later rows read; `item.format(k)` is the k-th of them."""
        self.out.line(f"prefetch({self.offsets}, {item.format('AHEAD_OFFSETS')})")
        self.out.line(f"ahead = {item.format('AHEAD_ARCS')}")
        for place in self._read_places("ahead"):
            self.out.line(f"prefetch({place})")
        for value in self.step.body.walk():
            if value.op == "load" and value.attr[:2] == ("column", "e"):
                column = self.kernel.args.use("column", value.attr[2], "out")
                self.out.line(f"prefetch({column}, {self.offsets}[ahead])")

    def _read_places(self, source: str = "w") -> list[str]:
        """Return the arrays and places that a pulled arc reads at its source."""
        places: list[str] = []
        for value in self.step.body.walk():
            if value.op == "load" and value.attr[:2] == ("field", "u") and not value.shape:
                name = value.attr[2]
                array, width = self.kernel.pairs.get(name, ("", 64))
                array = array or self.kernel.args.use("field", name)
                places.append(f"{array}, {source}" + (" << ONE" if width != 64 else ""))
        places.append(f"flags, {source}")
        return list(dict.fromkeys(places))


def priority_of(kernel: Kernel, step: Step, site: Site, fresh: dict[str, Operand]) -> str:
    """Return the priority of v as a float64; just written fields are known."""
    assert step.priority is not None
    at = Site(kernel.args, kernel.traits, site.direction, site.slot)
    at.known.update(site.known)
    for name, operand in fresh.items():
        at.known[("field", "v", name)] = operand
    text = kernel.block_value(step.priority, at, step)
    return cast(text, step.priority.results[0].dtype, FLOAT64)
