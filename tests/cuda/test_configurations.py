"""Every value of every field of Config on the device; the answers stay the same."""

import numpy as np
import pytest

import weft
from small_formats import FORMATS

pytestmark = pytest.mark.cuda

SCHEDULES = ("vertex", "edge", "warp", "block", "twc", "twce", "strict", "merge", "row")
SPLIT = [text for name, text in FORMATS.items() if name not in ("csr", "coo")]
# Fields of Config and their values, with the tasks that they matter to.
AXES = [
    *(({"schedule": schedule}, ("bfs", "pagerank")) for schedule in SCHEDULES),
    ({"format": "csr"}, ("bfs",)),
    ({"format": "coo"}, ("bfs", "sssp", "pagerank")),
    *(({"format": "coo", "schedule": name}, ("bfs",)) for name in ("edge", "row", "merge")),
    *(({"format": text}, ("bfs", "sssp", "pagerank", "components", "cores")) for text in SPLIT),
    *(({"format": text, "schedule": SCHEDULES[k % 9], "direction": "pull"}, ("bfs", "cores"))
      for k, text in enumerate(SPLIT)),
    *(({"format": text, "schedule": SCHEDULES[(k + 4) % 9], "direction": "push"}, ("bfs", "sssp"))
      for k, text in enumerate(SPLIT)),
    *(({"schedule": "row", "lanes": n}, ("bfs", "pagerank")) for n in (2, 4, 8, 16, 32, "block")),
    *(({"schedule": "merge", "items_per_thread": n}, ("bfs", "pagerank")) for n in (1, 8, 32)),
    *(({"block_size": size}, ("bfs", "sssp", "cores")) for size in (32, 64, 128, 512, 1024)),
    *(({"width": width}, ("bfs", "sssp")) for width in ("block", "cluster", "grid")),
    *(({"direction": name}, ("bfs", "cores")) for name in ("push", "pull")),
    *(({"direction": rule}, ("bfs",))
      for rule in ("beamer", "ligra", "gunrock", "graphblast", "simdx")),
    *(({"frontier_in": kind}, ("bfs", "cores"))
      for kind in ("queue", "bitmap", "bytemap", "reverse_queue", "state")),
    *(({"frontier_out": kind}, ("bfs", "cores")) for kind in ("queue", "bitmap", "bytemap")),
    *(({"compaction": kind}, ("bfs", "sssp", "cores"))
      for kind in ("online", "ballot", "batch", "atomic", "jit")),
    *(({"compaction": "online", "bin_size": size}, ("bfs",)) for size in (1, 16, 256)),
    *(({"compaction": "jit", "bin_size": size}, ("bfs",)) for size in (1, 16)),
    *(({"dedup": kind}, ("bfs", "sssp"))
      for kind in ("none", "bitmask", "history", "warp", "exact")),
    *(({"combine": kind}, ("sssp", "cores"))
      for kind in ("atomic", "in_place", "by_target", "radix")),
    *(({"ordering": kind}, ("sssp",)) for kind in (False, "near_far", "buckets", "horizon")),
    *(({"delta": delta}, ("sssp",)) for delta in (1.0, 30.0, 1e6)),
    *(({"fuse": fuse}, ("bfs", "sssp", "pagerank", "components", "triangles", "cores"))
      for fuse in ("none", "direction", "all")),
    ({"deterministic": True}, ("bfs", "sssp", "pagerank", "components", "triangles", "cores")),
]  # fmt: skip
CASES = [(options, task) for options, tasks in AXES for task in tasks]


def label(case):
    options, task = case
    return f"{task}-" + "-".join(f"{name}={value}" for name, value in options.items())


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.parametrize("graph", ["kron 11", "road 95"])
def test_configurations(device, judge, sized, case, graph):
    options, task = case
    small = {"kron 11": "kron 5", "road 95": "road 8"}
    judged = judge(sized(graph, small[graph]))
    assert judged.run(task, device, weft.Config(**options)) is None


@pytest.mark.parametrize("name", ["early_exit", "write_once", "source_hoisting"])
def test_passes_left_out(device, judge, sized, name):
    judged = judge(sized("kron 11", "kron 5"))
    task = "pagerank" if name == "source_hoisting" else "bfs"
    assert judged.run(task, device, weft.Config(passes_off=name)) is None


@pytest.mark.parametrize("fuse", ["none", "direction", "all"])
def test_a_trail_is_kept_under_every_fusion(device, host, sized, fuse):
    g = weft.generators.rmat(sized(9, 5), 6, seed=4)
    sources = [1, 5, 7]
    config = weft.Config(fuse=fuse)
    found = host(weft.betweenness(g.to(device), sources, config=config))
    np.testing.assert_allclose(found, weft.betweenness(g, sources), rtol=1e-9, atol=1e-12)


def test_what_is_not_known_is_refused(device):
    g = weft.generators.path(4).to(device)
    with pytest.raises(weft.errors.ConfigError, match=r"schedule='wrap'.*'warp'"):
        weft.bfs(g, 0, config=weft.Config(schedule="wrap"))
