"""Runs programs on the modelled GPU: the supersteps of a request, step by step, as streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.backends.layouts import ordered
from weft.formats import choose
from weft.ir.ops import Block, Program, Reduction, Step, Value, total_dtype
from weft.ir.reference.arithmetic import start_of
from weft.ir.reference.evaluate import holds_outside
from weft.ir.reference.memory import live_fields, live_written_fields, stored_fields
from weft.ir.reference.sweeps import message_groups
from weft.ir.request import Outcome, Request
from weft.weaver.launch import Simulator
from weft.weaver.lower import Lowering, Site, check_reduction, kind_of, refuse
from weft.weaver.machine import Counters, Machine
from weft.weaver.mappings import eghw_buffers, kernels, strided, thread
from weft.weaver.memory import Memory
from weft.weaver.rows import Reader
from weft.weaver.stream import Assembler, Kernel
from weft.weaver.sweep import Filter, Sink, Sweep

NARROW = 1 << 31


@dataclass(frozen=True)
class Mapping:
    """The options of a run on the model: schedule, format, direction and machine."""

    schedule: str = "weaver"
    format: str = ""  # the one that suits the schedule: coo for `edge`, else csr
    direction: str = "pull"
    machine: Machine = field(default_factory=Machine)
    traced: int = 0
    max_steps: int | None = None  # end after so many supersteps, whatever the program says

    @property
    def chosen(self) -> Any:
        """The format with its parameters."""
        return choose(self.format or ("coo" if self.schedule == "edge" else "csr"))


class Execution:
    """One request on the modelled GPU."""

    def __init__(self, request: Request, mapping: Mapping) -> None:
        self.request, self.mapping = request, mapping
        self.program: Program = request.program
        self.topology = request.topology
        self.n = self.topology.num_vertices
        self.simulator = Simulator(mapping.machine, mapping.traced)
        self.counters = Counters()
        self.steps: list[Counters] = []
        self._kernels: dict[Any, list[tuple[Kernel, dict[int, str] | None]]] = {}
        self._readers: dict[str, list[Reader]] = {}
        self._check()
        self._fields = {
            name: array for name, array in request.data.fields.items()
            if not name.startswith("old.")
        }  # fmt: skip
        self.memory = self._memory()
        self.superstep = 0

    # -- what is in memory

    def _check(self) -> None:
        program = self.program
        if program.wide or program.renew or program.trail or program.mode == "replay":
            raise refuse("a run with a trail, or whose steps change with the frontier,")
        if self.request.start.arcs:
            raise refuse("a frontier of arcs")
        for step in program.all_steps():
            if step.folded or step.hoisted:
                raise refuse("a fold")

    def _ways(self) -> set[str]:
        """Return the directions of storage that the steps read."""
        ways = {self._way_of(step) for step in self.program.all_steps() if step.kind == "edge"}
        for _, gather in self._gathers():
            ways |= {way for way, _ in self._gather_ways(gather)}
        return ways

    def _gathers(self) -> list[tuple[Step, Value]]:
        return [
            (step, value) for step in self.program.all_steps() if step.kind == "vertex"
            for value in step.body.body if value.op == "gather"
        ]  # fmt: skip

    def _way_of(self, step: Step) -> str:
        return "out" if self.mapping.direction == "push" else "in"

    def _gather_ways(self, gather: Value) -> list[tuple[str, str]]:
        """Return, for each direction of a gather, the storage it reads and the row's role."""
        direction = gather.attr[0]
        near = {"in": "in", "out": "out"}
        ways = ["in", "out"] if direction == "both" else [direction]
        if self.mapping.direction == "push":
            return [("out" if near[way] == "in" else "in", "u") for way in ways]
        return [(near[way], "v") for way in ways]

    def _memory(self) -> Memory:
        memory = Memory()
        request, topology = self.request, self.topology
        for name, array in self._fields.items():
            for prefix in ("now", "begin"):
                memory.add(f"{prefix}.{name}", array)
        for name in ("frontier", "next", "got"):
            memory.add(name, np.zeros(self.n, np.int8))
        memory.add("superstep", np.zeros(1, np.int64))
        for name, array in request.data.scalars.items():
            memory.add(f"scalar.{name}", array)
            memory.add(f"total.{name}", np.zeros(1, np.float64 if array.dtype.kind == "f" else
                                                array.dtype))  # fmt: skip
        for name, array in request.data.parameters.items():
            memory.add(f"parameter.{name}", array)
        for name, array in request.data.edge_fields.items():
            memory.add(f"edge.{name}", array)
        used = self._loads()
        for way in ("out", "in"):
            if ("degree", way) in used or (way == "out" and ("neighbor", way) in used):
                arcs = topology.adjacency(way)
                memory.add(f"{way}.offsets", arcs.offsets, self._offset_bytes())
                memory.add(f"{way}.targets", arcs.targets)
                edges = topology.edges(way)
                memory.add(f"{way}.edges", np.arange(arcs.targets.size) if edges is None else edges)
        for number, (_, gather) in enumerate(self._gathers()):
            for k, (dtype, shape) in enumerate(gather.results):
                width = int(np.prod(shape)) if shape else 1
                memory.add(f"gathered.{number}.{k}", np.zeros(self.n * width, dtype))
        for way in sorted(self._ways()):
            self._add_format(memory, way)
        memory.seal()
        return memory

    def _offset_bytes(self) -> int:
        """Return the width of an offset on the modelled machine, which has 32-bit words."""
        return 4 if self.topology.num_arcs < NARROW else 8

    def _loads(self) -> set[tuple[str, str]]:
        from weft.ir.ops import program_blocks

        found: set[tuple[str, str]] = set()
        for value in (v for block in program_blocks(self.program) for v in block.walk()):
            if value.op in ("degree", "neighbor", "neighbor_edge"):
                found |= {("degree", "out"), ("neighbor", "out")}
            elif value.op == "load" and value.attr[0] in ("out_degree", "in_degree"):
                found.add(("degree", value.attr[0].partition("_")[0]))
        return found

    def _add_format(self, memory: Memory, way: str) -> None:
        """Lay out a format for a direction, and columns and arcs in the order of its places."""
        mapping, topology = self.mapping, self.topology
        held = ordered(topology, mapping.chosen, way)  # type: ignore[arg-type]
        layout = held.layout
        kinds = [kind for kind in layout.format.kinds for _ in range(kind.copies)]
        readers = []
        for number, (kind, part) in enumerate(zip(kinds, layout.parts, strict=True)):
            reader = Reader(kind, part, f"{way}.part{number}")
            readers.append(reader)
            for name, array in reader.arrays().items():
                is_offsets = name.endswith(".offsets")
                memory.add(name, array, self._offset_bytes() if is_offsets else None)
        self._readers[way] = readers
        own = layout.places is not None
        arcs, edges = topology.arcs(way), topology.edges(way)  # type: ignore[arg-type]
        for what, numbers in (("arcs", arcs), ("edges", edges)):
            base = np.arange(topology.num_arcs, dtype=np.int64) if numbers is None else numbers
            taken = base[held.slots] if own and base.size else base
            memory.add(f"{way}.places.{what}", taken)
        for name, _, _ in self.program.signature.columns:
            if self._column_is_used(name):
                column = self.request.data.column(name, way)
                taken = held.column(name, column) if own else column
                memory.add(f"{way}.column.{name}", taken)

    def _column_is_used(self, name: str) -> bool:
        blocks = [step.body for step in self.program.all_steps()]
        return any(
            v.op == "load" and v.attr[0] == "column" and v.attr[-1] == name
            for block in blocks for v in block.walk()
        )  # fmt: skip

    # -- streams

    def _site(self, block: Block, **more: Any) -> Site:
        widths = {
            name: int(np.prod(a.shape[1:])) if a.ndim > 1 else 1 for name, a in self._fields.items()
        }
        scalars = {name: array.dtype for name, array in self.request.data.scalars.items()}
        return Site(
            {}, self.n, widths, live=live_fields(block), constants=self.request.constants,
            scalars=scalars, **more,
        )  # fmt: skip

    def _in_frontier(self, asm: Assembler, vertex: int) -> int:
        return asm.load("frontier", vertex)

    def _test(self, block: Block, site: Site) -> Filter:
        def test(asm: Assembler, vertex: int) -> int:
            return Lowering(asm, replace(site, who={"v": vertex})).block(block)[0][0]

        return test

    def _sinks(self, groups: Any, buffers: Sequence[str], types: Any) -> list[Sink]:
        sinks, position = [], 0
        for reduction, count, conditional in groups:
            check_reduction(reduction)
            part = slice(position, position + count)
            widths = tuple(int(np.prod(shape)) if shape else 1 for _, shape in types[part])
            if reduction.name in ("argmin", "argmax") and (count != 2 or widths != (1, 1)):
                raise refuse(f"{reduction.name} over {count} fields")
            dtypes = tuple(dtype for dtype, _ in types[part])
            sinks.append(Sink(reduction, tuple(buffers[part]), dtypes, widths, conditional))
            position += count
        return sinks

    def _edge_sweep(self, step: Step) -> Sweep:
        """Return the sweep of an edge step: filters lie with the base or the opposite vertex."""
        way = self._way_of(step)
        push = way == "out"
        accept = None if step.accept is None else self._test(step.accept, self._site(step.accept))
        active = None if step.everywhere else self._in_frontier
        types = []
        for name in step.into:
            array = self._fields[name]
            types.append((array.dtype, array.shape[1:]))
        groups = [(reduction, count, False) for reduction, count in message_groups(step)]
        marks = step.active is not None or not step.into
        return Sweep(
            step.name, self._readers[way], "u" if push else "v", "v", step.body,
            self._site(step.body), self._sinks(groups, [f"now.{n}" for n in step.into], types),
            base_filter=active if push else accept, far_filter=accept if push else active,
            condition=step.conditional, sends_always=step.sends_always,
            mark="got" if marks else "",
        )  # fmt: skip

    def _launch(self, kernel: Kernel, eghw: dict[int, str] | None = None) -> None:
        took = self.simulator.launch(kernel, self.memory, eghw)
        self.counters += took
        if self.steps:
            self.steps[-1] += replace(took, trace=[])

    def _renamed(self, kernel: Kernel, way: str) -> Kernel:
        """Point the columns of a stream at those in the order of its format."""
        names = []
        for name in kernel.buffers:
            if name.startswith("column."):
                name = f"{way}.{name}"
            elif name in ("arcs", "edges"):
                name = f"{way}.places.{name}"
            names.append(name)
        return replace_buffers(kernel, names)

    def _run_sweep(self, key: Any, way: str, make: Any) -> None:
        if key not in self._kernels:
            sweep = make()
            schedule = self.mapping.schedule
            found: list[tuple[Kernel, dict[int, str] | None]] = []
            for kernel in kernels(sweep, schedule, self.mapping.machine):
                eghw = None
                if schedule == "eghw":
                    plain = eghw_buffers(sweep, sweep.readers[0])
                    eghw = {k: f"{way}.{name}" if name.startswith("column.") else name
                            for k, name in plain.items()}  # fmt: skip
                found.append((self._renamed(kernel, way), eghw))
            self._kernels[key] = found
        for kernel, eghw in self._kernels[key]:
            self._launch(kernel, eghw)

    def _per_vertex(self, key: Any, name: str, write: Any, everywhere: bool = True) -> None:
        """Run a stream with a thread for each vertex, of the frontier or of all."""
        if key not in self._kernels:
            asm = Assembler(name)
            tid, step = thread(asm)
            with strided(asm, tid, step, asm.const(self.n)) as vertex:
                if everywhere:
                    write(asm, vertex)
                else:
                    with asm.when(asm.load("frontier", vertex)), asm.scope():
                        write(asm, vertex)
            self._kernels[key] = [(asm.finish(), None)]
        for kernel, _ in self._kernels[key]:
            self._launch(kernel)

    def _write_changed(self, asm: Assembler, vertex: int, names: Any, before: Any) -> int:
        """Return whether a field differs from what it was; NaN equals NaN."""
        changed = asm.copy(asm.const(0))
        lowering = Lowering(asm, Site({}, self.n, {}))
        for name in sorted(names):
            array = self._fields[name]
            kind = kind_of(array.dtype)
            width = int(np.prod(array.shape[1:])) if array.ndim > 1 else 1
            for k, place in enumerate(lowering.places(vertex, width)):
                with asm.scope():
                    a = before(name, k, place)
                    b = asm.load(f"now.{name}", place, kind)
                    differ = asm.op("ne", a, b)  # as bits
                    if array.dtype.kind == "f":
                        number = asm.op("eq", a, a, kind=kind)
                        number = asm.op("bit_or", number, asm.op("eq", b, b, kind=kind))
                        differ = asm.op("bit_and", differ, number)
                    asm.emit("bit_or", changed, changed, differ)
        return changed

    # -- steps

    def _edge_step(self, number: int, step: Step) -> None:
        self.memory.set("got", np.zeros(self.n, np.int8))
        self._run_sweep(("edge", number), self._way_of(step), lambda: self._edge_sweep(step))

        def write(asm: Assembler, vertex: int) -> None:
            if not step.into:
                asm.store("next", vertex, asm.load("got", vertex))
            elif step.active is not None:
                test = self._test(step.active, replace(self._site(step.active), owner=True))
                held = asm.copy(asm.const(0))
                with asm.when(asm.load("got", vertex)), asm.scope():
                    asm.move(held, test(asm, vertex))
                asm.store("next", vertex, held)
            else:

                def before(name: str, k: int, place: int) -> int:
                    return asm.load(f"begin.{name}", place, kind_of(self._fields[name].dtype))

                asm.store("next", vertex, self._write_changed(asm, vertex, step.into, before))

        self._per_vertex(("changed", number), f"{step.name}.changed", write)

    def _vertex_step(self, number: int, step: Step) -> None:
        everywhere = step.everywhere
        gathers = [(k, g) for k, (owner, g) in enumerate(self._gathers()) if owner is step]
        before: list[Value] = []
        for value in step.body.body:
            if value.op == "gather":
                which = next(k for k, g in gathers if g is value)
                self._gather(which, value, step, list(before))
            before.append(value)
        self.memory.set("next", np.zeros(self.n, np.int8))
        stored = stored_fields(step.body) - live_written_fields(step.body)

        def write(asm: Assembler, vertex: int) -> None:
            site = replace(self._site(step.body), who={"v": vertex}, owner=True)
            lowering = Lowering(asm, site)
            for which, gather in gathers:
                lowering.known[gather] = self._gathered(asm, which, gather, vertex)
            old: dict[tuple[str, int], int] = {}
            if step.active is None:
                for name in sorted(stored):
                    array = self._fields[name]
                    width = int(np.prod(array.shape[1:])) if array.ndim > 1 else 1
                    for k, place in enumerate(lowering.places(vertex, width)):
                        old[name, k] = asm.load(f"now.{name}", place, kind_of(array.dtype))
            results = lowering.block(step.body)
            if step.active is not None:
                test = replace(self._site(step.active), owner=True, before="begin")
                held = self._test(step.active, test)(asm, vertex)
            elif site.changed:
                held = site.changed[0]
            elif step.conditional:
                held = results[0][0]
            else:
                held = self._write_changed(asm, vertex, stored, lambda n, k, p: old[n, k])
            asm.store("next", vertex, held)

        self._per_vertex(("vertex", number), step.name, write, everywhere)

    def _gathered(self, asm: Assembler, which: int, gather: Value, vertex: int) -> Any:
        """Return the registers of what a gather gave at a vertex."""
        found = []
        lowering = Lowering(asm, Site({}, self.n, {}))
        for k, (dtype, shape) in enumerate(gather.results):
            width = int(np.prod(shape)) if shape else 1
            places = lowering.places(vertex, width)
            name = f"gathered.{which}.{k}"
            found.append([asm.load(name, place, kind_of(dtype)) for place in places])
        return tuple(found)

    def _gather(self, which: int, gather: Value, step: Step, before: list[Value]) -> None:
        """Gather into buffers, one sweep for each direction."""
        _direction, groups = gather.attr
        names = [f"gathered.{which}.{k}" for k in range(len(gather.results))]
        position = 0
        for reduction, count, _ in groups:
            for k in range(count):
                dtype, _ = gather.results[position + k]
                start = start_of(reduction, dtype) if not (k and reduction.selecting) else -1
                size = self.memory.get(names[position + k]).size
                self.memory.set(names[position + k], np.full(size, start, dtype))
            position += count
        active = None if step.everywhere else self._in_frontier
        needed = _needed(gather.blocks[0], before)
        earlier = {
            g: k
            for k, (owner, g) in enumerate(self._gathers())
            if owner is step and g is not gather
        }

        def given(asm: Assembler, value: Value, vertex: int) -> Any:
            if value in earlier:
                return self._gathered(asm, earlier[value], value, vertex)
            return None

        for way, base in self._gather_ways(gather):

            def make(way: str = way, base: str = base) -> Sweep:
                body = gather.blocks[0]
                return Sweep(
                    f"{step.name}.gather{which}", self._readers[way], base, "v", body,
                    self._site(body), self._sinks(groups, names, gather.results),
                    base_filter=active if base == "v" else None,
                    far_filter=None if base == "v" else active,
                    prelude=needed, given=given,
                )  # fmt: skip

            self._run_sweep(("gather", which, way), way, make)

    def run_steps(self, steps: Sequence[Step], frontier: Any, first: int = 0) -> Any:
        """Run steps one after another; return the mask of what the last one puts out."""
        memory, scalars = self.memory, self.request.data.scalars
        for number, step in enumerate(steps, first):
            for name in self._fields:
                memory.set(f"begin.{name}", memory.get(f"now.{name}"))
            memory.set("frontier", np.ones(self.n, np.int8) if step.everywhere else frontier)
            memory.set("superstep", np.array([self.superstep]))
            reduced: dict[str, Reduction] = {
                v.attr[0]: v.attr[1] for v in step.body.walk() if v.op == "reduce_scalar"
            }
            for name, array in scalars.items():
                memory.set(f"scalar.{name}", array)
                if name in reduced:
                    start = start_of(reduced[name], total_dtype(reduced[name], array.dtype))
                    memory.set(f"total.{name}", np.array([start]))
            if step.kind == "edge":
                self._edge_step(number, step)
            else:
                self._vertex_step(number, step)
            for name in reduced:
                scalars[name][0] = memory.get(f"total.{name}")[0]
            frontier = memory.get("next")
        return frontier

    # -- supersteps

    def _wake(self, steps: Sequence[Step], output: Any) -> Any:
        how = steps[-1].wake
        if how == "changed" or not output.any():
            return output
        if how == "all":
            return np.ones(self.n, np.int8)
        ways = {g.attr[0] for step, g in self._gathers() if step is steps[-1]} or {"in"}
        woken = np.zeros(self.n, np.int8)
        source, target = self.topology.endpoints()
        if ways & {"in", "both"}:
            woken[target[output[source] != 0]] = 1
        if ways & {"out", "both"}:
            woken[source[output[target] != 0]] = 1
        return woken

    def _until(self) -> bool:
        until = self.program.until
        if until is None:
            return False
        data = self.request.data
        return holds_outside(
            until, data.scalars, data.parameters, superstep=self.superstep, n=self.n
        )

    def _superstep(self, steps: Sequence[Step], frontier: Any, first: int = 0) -> Any:
        self.steps.append(Counters())
        return self.run_steps(steps, frontier, first)

    def run(self) -> Outcome:
        """Run the request to its end; the state is changed in place."""
        program, request = self.program, self.request
        frontier = np.zeros(self.n, np.int8)
        given = request.start.frontier
        frontier[slice(None) if given is None else given] = 1
        if program.mode == "run":
            frontier = self._superstep(program.steps, frontier)
            self.superstep, converged = 1, not frontier.any()
        else:
            frontier, converged = self._iterate(frontier)
        for name, array in self._fields.items():
            array[...] = self.memory.get(f"now.{name}").reshape(array.shape)
        for name, array in request.data.edge_fields.items():
            array[...] = self.memory.get(f"edge.{name}").reshape(array.shape)
        members = np.flatnonzero(frontier).astype(self.topology.index_dtype)
        return Outcome(self.superstep, converged, members)

    def _iterate(self, frontier: Any) -> tuple[Any, bool]:
        program, limit = self.program, self.request.max_iter
        most = self.mapping.max_steps
        persists, converged = program.persists and self.n > 0, False
        while not converged:
            if not frontier.any() and program.refill:
                everyone = np.ones(self.n, np.int8)
                frontier = self._superstep(program.refill, everyone, len(program.steps))
            over = self.superstep == limit or self.superstep == most
            if over or not (frontier.any() or persists):
                break
            frontier = self._superstep(program.steps, frontier)
            self.superstep += 1
            frontier = self._wake(program.steps, frontier)
            converged = self._until()
        return frontier, self._until() if program.until is not None else not frontier.any()


def _needed(block: Block, before: list[Value]) -> list[Value]:
    """Return those of earlier values that a block refers to, in their order."""
    wanted = {arg for value in block.walk() for arg in value.args}
    wanted |= set(block.results)
    found: list[Value] = []
    for value in reversed(before):
        if value in wanted:
            found.append(value)
            wanted |= set(value.args)
    return found[::-1]


def replace_buffers(kernel: Kernel, names: list[str]) -> Kernel:
    """Return a stream that names other buffers in the same places."""
    return Kernel(
        kernel.name, kernel.code, kernel.constants, kernel.registers, names, kernel.shared_words
    )
