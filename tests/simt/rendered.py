"""Vertex functions as kernels of one thread per vertex, run on the host emulation.

`agreed` renders some functions, compiles them as one program, runs them and compares every field
with what the interpreter leaves behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import weft
from agreement import assert_bits_equal
from oracle import make_request
from weft.backends.cuda import emulator as simt
from weft.backends.cuda.codegen.adjacent import Accumulator, render_gather
from weft.backends.cuda.codegen.blocks import BlockRenderer, Scope
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Arguments, Emitter, c_type, identifier, stored_type
from weft.backends.cuda.emulator.build import Case, Launch, compile_program
from weft.errors import FaultError
from weft.ir.check.facts import block_facts
from weft.ir.check.key import Keyer, lift_constants
from weft.ir.reference.interpret import interpret
from weft.plan.queries import Traits

RUNTIME = Path(simt.__file__).parent.parent / "runtime"
HEADERS = {path.name: path.read_text(encoding="utf-8") for path in RUNTIME.glob("*.cuh")}
INCLUDES = "".join(
    f'#include "{name}.cuh"\n'
    for name in ("numbers", "linear", "memory", "random", "rows_of", "updates")
)
CAUSES = ("none", "index out of range", "loop bound", "singular matrix")
BLOCK = 64


@dataclass
class Job:
    """A function to be run at all vertices of a graph."""

    graph: weft.Graph
    function: Any
    fields: dict[str, np.ndarray]
    close: frozenset[str] = frozenset()  # fields that are compared with a tolerance
    deterministic: bool = True
    lifted: bool = False  # whether constants become arguments
    racy: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    split: bool = False  # whether gathers go through partial results that are merged
    edges: dict[str, np.ndarray] = field(default_factory=dict)  # edge state


class Kernel:
    """One function as source, with the arrays that it is launched on."""

    def __init__(self, number: int, job: Job) -> None:
        self.name, self.job = f"function{number}", job
        state = job.graph.state(**job.fields)
        edges = job.graph.edge_state(**job.edges) if job.edges else None
        self.request, self.plain = make_request(
            job.graph, job.function, state, mode="run", edge_state=edges
        )
        if job.lifted:
            keyer = Keyer()
            keyer.program(self.request.program)
            numbers = [value.dtype.type(value.attr) for value in keyer.constants]
            self.request.constants = numbers
            lift_constants(keyer.constants)
        self.step = self.request.program.steps[0]
        self.topology = job.graph.topology
        self.args, self.out = Arguments(), Emitter()
        self.live = block_facts(self.step.body).live
        self.written: set[str] = set()
        self._render()
        bindings = self.args.bindings
        self.constants = {n: b[1:] for n, b in bindings.items() if b[0] == "constant"}
        self.buffers = {n: self._array(*b) for n, b in bindings.items() if b[0] != "constant"}
        self.buffers["fault"] = np.zeros(4, np.int64)
        self.source = self._source()

    def _render(self) -> None:
        site = Site(self.args, Traits(self.topology.directed, self.topology.keep))
        site.racy, site.constant = self.job.racy, self.job.constant
        gather = split_gather if self.job.split else render_gather
        scope = Scope(
            site.load,
            live=self.live,
            function=7,
            gather=lambda value, inner: gather(value, inner, site, self.job.deterministic),
            site=site,
            keys_base=lambda: f"v * {self._longest()}",
        )
        renderer = BlockRenderer(self.out, self.args, scope)
        renderer.block(self.step.body)
        for name, (value, operand) in renderer.stores.items():
            kind, array = c_type(value.dtype, value.shape), self.args.use("next", name)
            self.out.line(f"put<{kind}>({array}, v, {operand});")
            self.written.add(name)

    def _longest(self) -> int:
        return int(self.topology.out_degree.max() + self.topology.in_degree.max()) + 1

    def _array(self, kind: str, *rest: Any) -> np.ndarray:
        topology, n = self.topology, self.topology.num_vertices
        if kind in ("field", "next", "old"):
            array = self.plain.fields[("old." if kind == "old" else "") + rest[0]]
        elif kind == "column":
            array = self.request.data.column(*rest)
        elif kind in ("offsets", "targets"):
            array = getattr(topology.adjacency(rest[0]), kind)
        elif kind in ("arcs", "edges"):
            array = getattr(topology, kind)(rest[0])
        elif kind == "edge_ids":
            edges = topology.edges(rest[0])
            array = np.arange(topology.num_arcs) if edges is None else edges
        elif kind == "degree":
            array = getattr(topology, f"{rest[0]}_degree")
        elif kind == "edge_state":
            array = self.plain.edge_fields[rest[0]]
        elif kind == "reverse":
            array = topology.reverse_arcs()
        elif kind == "keys":
            array = np.zeros(n * self._longest(), rest[0])
        else:
            raise AssertionError(f"no array for {kind}")
        array = np.array(array).reshape(-1)
        array = array.view(np.uint8) if array.dtype == bool else array
        return np.concatenate([array, np.zeros(-array.size % 4, array.dtype)])

    def _source(self) -> str:
        members = [f"{stored_type(a.dtype)}* {name}" for name, a in self.buffers.items()]
        members[-1] = "Fault* fault"
        members += ["i64 n", "i64 arcs"]
        members += [f"{c_type(dtype)} {name}" for name, (_, dtype) in self.constants.items()]
        scalars = [
            (c_type(array.dtype), identifier(name)) for name, array in self.plain.scalars.items()
        ]
        names = [member.split()[-1] for member in members]
        held = [f"s_{name}" for _, name in scalars]
        params = [
            *members, *(f"{kind} s_{name}" for kind, name in scalars), "i64 step",
        ]  # fmt: skip
        declared = " ".join(f"{member};" for member in members)
        scalar_members = " ".join(f"{kind} {name};" for kind, name in scalars)
        body = "\n".join(f"    {line}" for line in self.out.lines)
        return f"""
struct Args_{self.name} {{ {declared} }};
struct Scalars_{self.name} {{ {scalar_members} }};
__global__ void {self.name}({", ".join(params)}) {{
    const Args_{self.name} a = {{{", ".join(names)}}};
    const Scalars_{self.name} scalars = {{{", ".join(held)}}};
    const Loop loop = {{step}};
    const i64 v = global_id();
    static_cast<void>(scalars);
    static_cast<void>(loop);
    if (v >= a.n) return;
{body}
}}
"""

    def case(self, seed: int) -> Case:
        n = self.topology.num_vertices
        sizes = (np.int64(n), np.int64(self.topology.num_arcs))
        scalars = [array[0] for array in self.plain.scalars.values()]
        numbers = self.request.constants
        constants = [numbers[position] for position, _ in self.constants.values()]
        args = (*self.buffers, *sizes, *constants, *scalars, np.int64(0))
        launch = Launch(self.name, args, -(-n // BLOCK), BLOCK)
        return Case({name: np.array(a) for name, a in self.buffers.items()}, [launch], seed)

    def interpret(self) -> str:
        """Run the interpreter; return the fault that it raised, if any."""
        try:
            interpret(self.request)
        except FaultError as error:
            return str(error)
        return ""

    def check(self, output: dict[str, np.ndarray], skipped: Sequence[str] = ()) -> None:
        """Compare what the kernel left behind with the interpreter's fields."""
        assert output["fault"][0] == 0, CAUSES[int(output["fault"][0]) & 0xFFFFFFFF]
        for name in sorted((self.written | self.live) - set(skipped)):
            want = self.plain.fields[name]
            held = self.args.use("next" if name in self.written else "field", name)
            flat = output[held.removeprefix("a.")][: want.size]
            got = (flat != 0 if want.dtype == bool else flat).reshape(want.shape)
            if name in self.job.close:
                eps = float(np.finfo(want.dtype).eps)
                tiny = float(np.finfo(want.dtype).tiny)
                np.testing.assert_allclose(got, want, rtol=8 * eps, atol=tiny, err_msg=name)
            else:
                assert_bits_equal(got, want, f"{name}\n{self.source}")


def split_gather(value: Any, renderer: Any, site: Site, deterministic: bool) -> list[str]:
    """Render a gather in three interleaved parts, each into a struct, merged after the row."""
    way, groups = value.attr
    out, kinds = renderer.out, list(value.results)
    accumulators = []
    for reduction, count, _ in groups:
        first = len(value.results) - len(kinds)
        accumulators.append(
            Accumulator(renderer, reduction, kinds[:count], prefix="partial.", first=first)
        )
        if deterministic and reduction.selecting:
            accumulators[-1].count_edges()
        kinds = kinds[count:]
    partial, slot, far = (out.fresh(letter) for letter in ("Partial", "s", "u"))
    members = [member for a in accumulators for member in a.members()]
    out.line(f"struct {partial} {{ {' '.join(f'{t} {n} = {x};' for t, n, x in members)} }};")
    parts = out.fresh("parts")
    out.line(f"{partial} {parts}[3];")
    offsets, targets = site.args.use("offsets", way), site.args.use("targets", way)
    begin, end = f"row_begin({offsets}, v)", f"row_end({offsets}, v)"
    with out.block(f"for (i64 {slot} = {begin}; {slot} < {end}; ++{slot})"):
        out.line(f"{partial}& partial = {parts}[{slot} % 3];")
        out.line(f"[[maybe_unused]] const i64 {far} = i64({targets}[{slot}]);")
        index = {**site.index, "u": far}
        place = replace(site, direction=way, slot=slot, index=index, turned=way == "out")
        inner = renderer.inner(place)
        results = inner.block(value.blocks[0])
        for accumulator, (_, count, conditional) in zip(accumulators, groups, strict=True):
            messages, results = results[:count], results[count:]
            accumulator.renderer = inner
            with out.block(f"if ({results.pop(0)})" if conditional else ""):
                accumulator.take(messages, place.edge)
            accumulator.end_slot(slot)
    found = [renderer.mutable(f"{parts}[0].p{k}", c_type(*kind)) for k, kind in
             enumerate(value.results)]  # fmt: skip
    with out.block(""):
        out.line(f"{partial}& partial = {parts}[2];")
        for other in (0, 1):
            with out.block(""):
                out.line(f"const {partial}& other = {parts}[{other}];")
                for accumulator in accumulators:
                    accumulator.renderer = renderer
                    accumulator.merge("other.")
        for accumulator in accumulators:
            accumulator.end_row()
        for k, name in enumerate(found):
            out.line(f"{name} = partial.p{k};")
    return found


def compiled(kernels: Sequence[Kernel], sanitizer: str = "address") -> Any:
    """Compile kernels as one program."""
    source = INCLUDES + "using namespace weft;\nstruct Loop { i64 step; };\n"
    source += "".join(kernel.source for kernel in kernels)
    names = [kernel.name for kernel in kernels]
    return compile_program(source, names, sanitizer=sanitizer, label="expressions", headers=HEADERS)


def agreed(
    run_cases: Any,
    *jobs: Job,
    seeds: Sequence[int] = (0,),
    sanitizer: str = "address",
    skipped: Sequence[str] = (),
) -> tuple[list[Kernel], list[dict[str, np.ndarray]]]:
    """Compare what the functions of some jobs compute with the interpreter, but for some fields."""
    kernels = [Kernel(number, job) for number, job in enumerate(jobs)]
    program = compiled(kernels, sanitizer)
    cases = [(kernel, kernel.case(seed)) for kernel in kernels for seed in seeds]
    outputs = run_cases(program, [case for _, case in cases])
    for kernel in kernels:
        assert kernel.interpret() == ""
    for (kernel, _), output in zip(cases, outputs, strict=True):
        kernel.check(output, skipped)
    return kernels, outputs


def faults(run_cases: Any, *jobs: Job) -> list[tuple[str, str]]:
    """Return for each job the fault of the kernel and that of the interpreter."""
    kernels = [Kernel(number, job) for number, job in enumerate(jobs)]
    outputs = run_cases(compiled(kernels), [kernel.case(0) for kernel in kernels])
    found = []
    for kernel, output in zip(kernels, outputs, strict=True):
        cause, function = output["fault"].view(np.uint32)[:2]
        assert cause == 0 or function == 7
        found.append((CAUSES[int(cause)], kernel.interpret()))
    return found
