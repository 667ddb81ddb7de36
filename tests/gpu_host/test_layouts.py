"""What host and device both know of a kernel's memory says the same on either side."""

import re
from pathlib import Path

import weft.backends.cuda.runtime
from weft.backends.cuda.codegen.buffers import BUFFERS
from weft.backends.cuda.host.bind import Binder
from weft.backends.cuda.host.control import DOUBLES, LOOP

RUNTIME = Path(weft.backends.cuda.runtime.__path__[0])


def test_every_declared_argument_can_be_bound():
    assert [kind for kind in BUFFERS if not hasattr(Binder, f"_{kind}")] == []


def test_the_host_knows_the_members_of_the_loop():
    (body,) = re.findall(r"struct Loop \{\n(.*?)\n\};", (RUNTIME / "machine.cuh").read_text(), re.S)
    members, doubles = [], set()
    for kind, name, count in re.findall(r"^    (\w+) (\w+)(?:\[(\d+)\])?;", body, re.M):
        names = [f"{name.removesuffix('_of')}_{k}" for k in range(int(count))] if count else [name]
        members += names
        doubles |= set(names) if kind == "double" else set()
    assert tuple(members) == LOOP
    assert doubles == DOUBLES
