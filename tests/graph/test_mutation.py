"""Graphs that change: after any sequence they equal graphs built afresh, and old ones stay."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import fake_cupy
import weft
from graphs import edge_lists
from weft.arrays.device import to_host
from weft.errors import ConfigError, FieldError, GraphError
from weft.graph import mutation as changing
from weft.topology import merge as merging
from weft.topology.adjacency import Adjacency

KEEPS = ("both", "out", "in")


def fresh(n, edges, directed, keep="both", index_dtype=None):
    """Build a graph with the columns weight and pair from (src, dst, weight, pair) in order."""
    src, dst = (np.array([edge[i] for edge in edges], np.int64) for i in range(2))
    g = weft.Graph.from_edges(
        src, dst, np.arange(len(edges)), num_vertices=n, directed=directed, keep=keep,
        index_dtype=index_dtype,
    )  # fmt: skip
    order = g.edge["weight"]
    g.edge["weight"] = np.array([edge[2] for edge in edges], np.float32)[order]
    g.edge["pair"] = np.array([edge[3] for edge in edges], np.int16).reshape(-1, 2)[order]
    return g


def arrays(g):
    """All that can be seen of a graph, as arrays on the host."""
    topology = g.topology
    seen = {f"edge {name}": g.edge[name] for name in g.edge}
    seen |= {f"vertex {name}": g.vertex[name] for name in g.vertex}
    seen["src"], seen["dst"] = topology.edge_endpoints()
    seen["out degree"], seen["in degree"] = g.out_degree, g.in_degree
    for direction in ("out", "in"):
        if topology.keep in ("both", direction):
            adjacency = topology.adjacency(direction)
            seen[f"{direction} offsets"] = adjacency.offsets
            seen[f"{direction} targets"] = adjacency.targets
            for kind in ("arcs", "edges"):
                slots = getattr(topology, kind)(direction)
                seen[f"{direction} {kind}"] = np.arange(0) if slots is None else slots
            for name in g.edge:
                seen[f"{direction} {name}"] = g.edge.in_slots(name, direction)
    return {name: to_host(array).copy() for name, array in seen.items()}


def assert_same(got, want):
    sizes = [(g.num_vertices, g.num_edges, g.topology.num_arcs) for g in (got, want)]
    assert sizes[0] == sizes[1]
    got, want = arrays(got), arrays(want)
    assert got.keys() == want.keys()
    for name, array in want.items():
        assert got[name].dtype == array.dtype, name
        np.testing.assert_array_equal(got[name], array, err_msg=name)


class Changes(RuleBasedStateMachine):
    """A graph and a list of its edges, changed in the same way."""

    g = None

    @initialize(
        edges=edge_lists(weights=None, max_vertices=6, max_edges=12),
        keep=st.sampled_from(KEEPS),
        device=st.sampled_from(["cpu", "emulated"]),
        index_dtype=st.sampled_from([None, np.int64]),
    )
    def start(self, edges, keep, device, index_dtype):
        self.n, self.directed, self.keep = edges.num_vertices, edges.directed, keep
        self.index_dtype = index_dtype
        self.count = 0
        pairs = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
        self.edges = [self.edge(u, v, 1) for u, v in pairs]
        self.g = self.built().to(device)
        self.device = device
        self.kept = []

    def built(self):
        return fresh(self.n, self.edges, self.directed, self.keep, self.index_dtype)

    def edge(self, u, v, weight):
        self.count += 1
        return (u, v, weight, (self.count, -self.count))

    def ends(self, pairs):
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def drawn(self, data):
        vertex = st.integers(0, self.n - 1)
        return data.draw(st.lists(st.tuples(vertex, vertex), max_size=8)) if self.n else []

    def batch(self, data):
        pairs = self.drawn(data)
        weight = st.lists(st.sampled_from([1, 2, np.nan]), min_size=len(pairs), max_size=len(pairs))
        new = [self.edge(*pair, w) for pair, w in zip(pairs, data.draw(weight), strict=True)]
        values = np.array([edge[3] for edge in new], np.int64).reshape(-1, 2)
        added = dict(zip(("src", "dst"), self.ends(new), strict=True))
        return new, added | {"weight": [edge[2] for edge in new], "columns": {"pair": values}}

    def same_pair(self, edge, pair):
        return edge[:2] == pair or (not self.directed and edge[1::-1] == pair)

    def remember(self):
        self.kept.append((self.g, self.g.to_edges(), self.g.edge["pair"].copy()))

    @rule(data=st.data())
    def add(self, data):
        self.remember()
        new, added = self.batch(data)
        self.g = self.g.add_edges(**added)
        self.edges += new

    @rule(data=st.data(), by_weight=st.booleans())
    def remove(self, data, by_weight):
        self.remember()
        pairs = self.drawn(data)
        if by_weight:
            weight = data.draw(st.sampled_from([1.0, 2.0, np.nan]))
            self.g = self.g.remove_edges(*self.ends(pairs), weight, missing="ignore")
        else:
            self.g = self.g.remove_edges(*self.ends(pairs), missing="ignore")
        self.edges = [
            edge
            for edge in self.edges
            if not any(self.same_pair(edge, pair) for pair in pairs)
            or (by_weight and not np.array_equal(edge[2], weight, equal_nan=True))
        ]

    @rule(data=st.data())
    def update(self, data):
        pairs = [edge[:2] for edge in self.edges if data.draw(st.booleans())]
        new, added = self.batch(data)
        version = self.g.version
        self.g.update(add=added, remove=self.ends(pairs))
        assert self.g.version == version + 1
        gone = [e for e in self.edges if any(self.same_pair(e, pair) for pair in pairs)]
        self.edges = [edge for edge in self.edges if edge not in gone] + new

    @rule(more=st.integers(1, 3))
    def grow(self, more):
        self.n += more
        self.g = self.g.add_edges([], [], [], columns={"pair": (0, 0)}, num_vertices=self.n)

    @rule()
    def derive(self):
        arrays(self.g)  # makes the second direction, which then is merged too

    @invariant()
    def edges_are_those_of_one_built_afresh(self):
        if self.g is not None:
            again = self.built()
            for got, want in zip(self.g.to_edges(), again.to_edges(), strict=True):
                np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(self.g.edge["pair"], again.edge["pair"])

    def teardown(self):
        if self.g is None:
            return
        again = self.built()
        assert_same(self.g, again)
        assert self.g.device == self.device
        for g, edges, pair in self.kept:
            for got, want in zip(g.to_edges(), edges, strict=True):
                np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(g.edge["pair"], pair)
        if self.n and self.keep == "both":
            np.testing.assert_array_equal(weft.bfs(self.g, 0).level, weft.bfs(again, 0).level)
            found = weft.connected_components(self.g)
            np.testing.assert_array_equal(found, weft.connected_components(again))


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=40, stateful_step_count=8)


def test_a_graph_on_a_gpu_changes_there(monkeypatch):
    with fake_cupy.installed(monkeypatch) as cupy:

        @given(edge_lists(weights="float"), st.sampled_from(KEEPS), st.booleans(), st.data())
        @settings(max_examples=40)
        def test(edges, keep, derived, data):
            g = edges.build(keep=keep)
            there = g.to("cuda")
            if derived and keep == "both":
                _ = g.topology.in_, there.topology.in_
            some = st.lists(st.sampled_from(range(max(edges.src.size, 1))), max_size=6)
            chosen = data.draw(some) if edges.src.size else []
            batch = edges.src[chosen], edges.dst[chosen], edges.weight[chosen]
            for change in (
                lambda g: g.add_edges(*batch),
                lambda g: g.remove_edges(*batch[:2]),
                lambda g: g.remove_edges(*batch).add_edges(*batch[1::-1], weight=2),
            ):
                changed = change(there)
                assert isinstance(changed.edge["weight"], cupy.ndarray)
                assert_same(changed, change(g))
            assert_same(there, g)

        test()


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("directed", [True, False])
def test_large_batches(directed, index_dtype, monkeypatch):
    """They are searched for by compiled code."""
    monkeypatch.setattr(merging, "_COMPILED_SEARCH_PAIRS", 1)
    rng = np.random.default_rng(7)
    src, dst = (np.minimum(rng.geometric(0.02, 6000), 300) - 1 for _ in range(2))
    weight = rng.integers(0, 4, src.size)
    options = {"num_vertices": 301, "directed": directed, "index_dtype": index_dtype}
    whole = weft.Graph.from_edges(src, dst, weight, **options)
    part = weft.Graph.from_edges(src[:4000], dst[:4000], weight[:4000], **options)
    _ = part.topology.in_
    assert_same(part.add_edges(src[4000:], dst[4000:], weight[4000:]), whole)
    gone = weight == 2
    left = weft.Graph.from_edges(src[~gone], dst[~gone], weight[~gone], **options)
    assert_same(whole.remove_edges(src[gone], dst[gone], 2), left)


@pytest.mark.parametrize("side", ["left", "right"])
def test_slots_of_pairs(side, monkeypatch):
    rng = np.random.default_rng(3)
    lengths = [0, 1, 700, 0, 2, 33]
    targets = np.concatenate([np.sort(rng.integers(0, 40, length)) for length in lengths])
    adjacency = Adjacency(np.concatenate(([0], np.cumsum(lengths))), targets)
    rows, wanted = np.repeat(np.arange(6), 42), np.tile(np.arange(-1, 41), 6)
    want = [
        begin + np.searchsorted(targets[begin:end], target, side)
        for (begin, end), target in zip(
            np.stack((adjacency.offsets[rows], adjacency.offsets[rows + 1]), 1), wanted, strict=True
        )
    ]
    for pairs in (1 << 15, 1):
        monkeypatch.setattr(merging, "_COMPILED_SEARCH_PAIRS", pairs)
        np.testing.assert_array_equal(merging.slots_of(adjacency, rows, wanted, side), want)


# -- what is shared ------------------------------------------------------------------------------


def test_what_did_not_change_is_shared():
    g = weft.Graph.from_edges(["a", "b"], ["b", "c"])
    g.vertex["x"] = [1, 2, 3]
    more = g.add_edges(["c"], ["a"])
    assert more.vertex.storage("x") is g.vertex.storage("x")
    assert more.labels is g.labels or np.shares_memory(more.labels, g.labels)
    same = g.remove_edges(["c"], ["a"], missing="ignore")
    assert same.topology is g.topology
    more.vertex["x"] = [4, 5, 6]
    assert g.vertex["x"].tolist() == [1, 2, 3]


def test_a_graph_keeps_its_order():
    g = weft.generators.rmat(5, 4, seed=2).reorder("degree")
    more = g.add_edges([3, 40], [40, 41], num_vertices=42)
    assert more.order.tolist() == [*g.order.tolist(), *range(32, 42)]
    plain = weft.Graph.from_edges(*more.to_edges()[:2], num_vertices=42, directed=False)
    np.testing.assert_array_equal(weft.bfs(more, 0).level, weft.bfs(plain, 0).level)
    more.update(remove=([3], [40]))
    assert weft.bfs(more, 0).level[40] == -1 and more.added_since(2)[0].size == 0
    assert g.reorder("random").add_edges([1], [0]).added_since(g)[0].tolist() == [1]


# -- vertices and labels -------------------------------------------------------------------------


def test_unknown_labels_make_vertices_in_order_of_appearance():
    g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"])
    g.vertex["age"], g.vertex["size"] = [30, 40, 50], np.ones((3, 2), np.float32)
    g.vertex["tall"] = [True, True, True]
    more = g.add_edges(["Zoe", "Ada", "Zoe"], ["Ada", "Max", "Eve"])
    assert more.labels.tolist() == ["Ada", "Bob", "Eve", "Zoe", "Max"]
    assert more.vertex["age"].tolist() == [30, 40, 50, 0, 0]
    assert more.vertex["tall"].tolist() == [True, True, True, False, False]
    assert np.isnan(more.vertex["size"][3:]).all() and more.vertex["size"].dtype == np.float32
    assert sorted(zip(*(end.tolist() for end in more.to_edges(labels=True)[:2]), strict=True)) == [
        ("Ada", "Bob"), ("Ada", "Max"), ("Bob", "Eve"), ("Zoe", "Ada"), ("Zoe", "Eve"),
    ]  # fmt: skip
    assert g.num_vertices == 3 and weft.bfs(more, "Zoe").level.tolist() == [1, 2, 1, 0, 2]


def test_numbers_are_labels_where_labels_are_numbers():
    g = weft.Graph.from_edges([100, 200], [200, 300], labels=True)
    more = g.add_edges([300, 7], [100, 300])
    assert more.labels.tolist() == [100, 200, 300, 7] and more.labels.dtype == np.int64
    assert more.remove_edges([7], [300]).num_edges == 3
    mixed = g.add_edges(["x"], [100])
    assert mixed.labels.tolist() == [100, 200, 300, "x"]


def test_numbers_are_vertices_where_no_label_is_a_number():
    g = weft.Graph.from_edges(["a"], ["b"])
    assert g.add_edges([1], [0]).remove_edges([0], [1]).to_edges().src.tolist() == [1]
    with pytest.raises(GraphError, match=r"dst\[0\] = 2 is not one of the 2 vertices.*or labels"):
        g.add_edges([0], [2])


def test_more_vertices_need_num_vertices():
    g = weft.Graph.from_edges([0], [1])
    with pytest.raises(GraphError, match=r"src\[1\] = 4 is not one of the 2 .* num_vertices=5"):
        g.add_edges([0, 4], [1, 1])
    assert g.add_edges([4], [1], num_vertices=6).num_vertices == 6
    with pytest.raises(GraphError, match=r"num_vertices=1 is less than the 2 .*subgraph"):
        g.add_edges([0], [1], num_vertices=1)
    with pytest.raises(GraphError, match=r"src\[0\] = -1 is not one of the 3 vertices"):
        g.add_edges([-1], [1], num_vertices=3)
    with pytest.raises(GraphError, match=r"vertices have labels. Leave it out"):
        weft.Graph.from_edges(["a"], ["b"]).add_edges(["c"], ["a"], num_vertices=3)
    with pytest.raises(GraphError, match="missing"):
        weft.Graph.from_edges(["a"], ["b"]).add_edges([None], ["a"])


# -- columns -------------------------------------------------------------------------------------


def test_every_edge_column_needs_values():
    g = weft.Graph.from_edges([0], [1], weight=[1.5])
    g.edge["kind"] = np.array([3], np.uint8)
    more = g.add_edges([1, 1], [0, 0], 2, columns={"kind": [7, 8]})
    assert more.edge["weight"].tolist() == [1.5, 2.0, 2.0]
    assert more.edge["kind"].tolist() == [3, 7, 8] and more.edge["kind"].dtype == np.uint8
    with pytest.raises(GraphError, match=r"no values for the edge column\(s\) 'kind'.*columns="):
        g.add_edges([1], [0], 1.0)
    with pytest.raises(GraphError, match=r"no values for the edge column\(s\) 'weight'.*weight="):
        g.add_edges([1], [0], columns={"kind": 1})
    with pytest.raises(GraphError, match="no edge column 'knd'"):
        g.add_edges([1], [0], 1.0, columns={"kind": 1, "knd": 1})
    with pytest.raises(GraphError, match=r"'kind' is uint8, but was given values of int64"):
        g.add_edges([1], [0], 1.0, columns={"kind": 300})
    with pytest.raises(GraphError, match=r"'kind' is uint8, but was given values of float64"):
        g.add_edges([1], [0], 1.0, columns={"kind": 0.5})
    with pytest.raises(GraphError, match=r"shape \(3,\). Expected \(1,\), one per edge, or \(\)"):
        g.add_edges([1], [0], [1, 2, 3], columns={"kind": 1})
    with pytest.raises(GraphError, match=r"'weight'. Pass the weights as weight="):
        g.add_edges([1], [0], columns={"kind": 1, "weight": 1})
    with pytest.raises(GraphError, match=r"no edge column 'weight'.*There are none"):
        weft.Graph.from_edges([0], [1]).add_edges([1], [0], 1.0)


def test_weights_to_remove_are_compared_in_the_dtype_of_the_column():
    g = weft.Graph.from_edges([0, 0], [1, 1], np.array([0.1, np.nan], np.float32))
    assert g.remove_edges([0], [1], 0.1).num_edges == 1
    assert g.remove_edges([0, 0], [1, 1], [0.1, np.nan]).num_edges == 0
    whole = weft.Graph.from_edges([0], [1], [2])
    with pytest.raises(GraphError, match=r"int64, but was given values of float64"):
        whole.remove_edges([0], [1], 2.5)
    endless = weft.Graph.from_edges([0], [1], np.array([np.inf], np.float32))
    with pytest.raises(GraphError, match=r"float32, but was given values of float64"):
        endless.remove_edges([0], [1], 1e300)
    assert endless.remove_edges([0], [1], np.inf).num_edges == 0
    assert endless.add_edges([1], [0], -np.inf).edge["weight"].tolist() == [np.inf, -np.inf]


# -- what is missing -----------------------------------------------------------------------------


def test_missing_edges_are_told():
    g = weft.Graph.from_edges([0, 1], [1, 2], [1.0, 2.0])
    with pytest.raises(
        GraphError, match=r"2 of 3 edges to remove do not exist: \(1, 0\), \(0, 9\)"
    ):
        g.remove_edges([0, 1, 0], [1, 0, 9])
    with pytest.raises(GraphError, match=r"1 of 1 .*: \(0, 1\) of weight 3.0. .*missing='ignore'"):
        g.remove_edges([0], [1], 3)
    assert g.remove_edges([0, 1, -5], [1, 0, 9], missing="ignore").num_edges == 1
    with pytest.raises(ConfigError, match="missing='skip' is not known"):
        g.remove_edges([0], [1], missing="skip")
    names = weft.Graph.from_edges(["a"], ["b"], directed=False)
    with pytest.raises(GraphError, match=r"1 of 2 .*: \('a', 'x'\)"):
        names.remove_edges(["b", "a"], ["a", "x"])
    assert names.remove_edges(["b", "a"], ["a", "x"], missing="ignore").num_edges == 0


def test_a_pair_named_twice_is_removed_once():
    g = weft.Graph.from_edges([0, 0, 1], [1, 1, 0], directed=False)
    assert g.remove_edges([0, 1], [1, 0]).num_edges == 0


@pytest.mark.parametrize("change", ["add_edges", "remove_edges"])
def test_pairs_are_checked(change):
    change = getattr(weft.Graph.from_edges([0], [1]), change)
    with pytest.raises(GraphError, match="differ in length: got 2 and 1"):
        change([0, 1], [1])
    for src in ([0.5], ["a"]):
        with pytest.raises(GraphError, match=r"src has dtype .* no labels.*integers"):
            change(src, [1])
    with pytest.raises(GraphError, match="2 dimensions"):
        change([[0]], [[1]])


# -- versions ------------------------------------------------------------------------------------


@weft.vertex
def step(v):
    v.x = v.x + 1


@weft.edge(into="x", reduce=weft.sum)
def send(u, v, e):
    return 1


def test_update_invalidates_states():
    g = weft.Graph.from_edges([0, 1], [1, 2])
    state, edges = g.state(x=weft.full(0)), g.edge_state(y=weft.full(0))
    arcs = g.edge_frontier([0])
    copied = copy.deepcopy(state)
    g.run(step, state)
    g.update(add=([2], [0]), remove=([0], [1]))
    assert (g.version, g.num_edges) == (1, 2)
    for old in (state, copied):
        with pytest.raises(
            FieldError, match=r"version 0 .*changed since. Make .* g.state\(x=old.x\)"
        ):
            g.run(step, old)
        with pytest.raises(FieldError, match="version 0"):
            g.iterate(step, old, max_iter=1)
    new = g.state(x=state.x)
    with pytest.raises(FieldError, match=r"g.edge_state\(y=old.y\)"):
        g.run(step, new, edge_state=edges)
    with pytest.raises(GraphError, match=r"arcs of version 0 .* g.edge_frontier"):
        g.run(send, new, arcs)
    g.run(step, new)
    assert new.x.tolist() == [2, 2, 2]


def test_only_update_invalidates_states():
    g = weft.Graph.from_edges([0, 1], [1, 2])
    state = g.state(x=weft.full(0))
    more = g.add_edges([2], [0])
    assert (g.version, more.version) == (0, 1)
    g.run(step, state)
    more.update(remove=([2], [0]))
    g.run(step, state)
    assert (g.version, more.version, g.num_edges) == (0, 2, 2)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_change_by_themselves(duplicate):
    g = weft.Graph.from_edges([0, 1], [1, 2])
    twin = duplicate(g)
    state = twin.state(x=weft.full(0))
    g.update(add=([2], [0]))
    twin.run(step, state)
    assert (g.num_edges, twin.num_edges, twin.version) == (3, 2, 0)
    twin.update(add=([0], [2]))
    with pytest.raises(FieldError, match="version 0"):
        twin.run(step, state)
    assert duplicate(twin).added_since(twin)[0].size == 0


def test_a_failed_update_changes_nothing():
    g = weft.Graph.from_edges([0, 1], [1, 2])
    before = arrays(g)
    with pytest.raises(GraphError, match="not one of the 3 vertices"):
        g.update(remove=([0], [1]), add=([0], [7]))
    assert g.version == 0 and g.num_edges == 2
    assert arrays(g).keys() == before.keys()
    g.run(step, g.state(x=weft.full(0)))


def test_batches_of_update():
    g = weft.Graph.from_edges([0], [1], [1.0])
    g.update(add={"src": [1], "dst": [2], "weight": [5.0], "num_vertices": 3})
    g.update(remove={"src": [1], "dst": [2], "weight": 5})
    g.update(g.to_edges())
    assert g.to_edges().weight.tolist() == [1.0, 1.0] and g.version == 3
    for wrong in ("ab", ([0],), {"src": [0]}, {"src": [0], "dst": [1], "wieght": [1]}):
        with pytest.raises(ConfigError, match=r"add= got .* Expected \(src, dst\)"):
            g.update(add=wrong)
    with pytest.raises(ConfigError, match=r"remove= got"):
        g.update(remove={"src": [0], "dst": [1], "num_vertices": 3})


def test_edges_added_since():
    g = weft.generators.path(4)
    first = g.add_edges([3], [0])
    second = first.add_edges([1, 1], [3, 3])
    assert [end.tolist() for end in second.added_since(g)] == [[3, 1, 1], [0, 3, 3]]
    assert [end.tolist() for end in second.added_since(1)] == [[1, 1], [3, 3]]
    assert [end.size for end in second.added_since(second)] == [0, 0]
    assert second.to("emulated").added_since(g)[0].tolist() == [3, 1, 1]
    second.update(add=([0], [2]))
    assert second.version == 3 and second.added_since(2)[0].tolist() == [0]
    with pytest.raises(GraphError, match="since the other graph are not known"):
        first.added_since(second)
    with pytest.raises(GraphError, match="since version 9 are not known"):
        first.added_since(9)
    fewer = second.remove_edges([0], [2])
    with pytest.raises(GraphError, match=r"1 edge\(s\) were removed since"):
        fewer.added_since(first)
    assert fewer.add_edges([0], [2]).added_since(fewer)[1].tolist() == [2]


def test_old_versions_are_forgotten_when_they_are_of_no_use():
    g = weft.generators.path(4)
    last = g
    for _ in range(1100):
        last = last.remove_edges([0], [1]).add_edges([0], [1]) if last is g else last
        last = last.add_edges([], [])
    assert len(last._history.past) <= 1000
    doubled = g.add_edges([0, 0, 0, 0], [1, 1, 1, 1]).add_edges([0, 0, 0], [2, 2, 2])
    assert doubled.added_since(g)[0].size == 7
    with pytest.raises(GraphError, match="not known"):
        weft.Graph.from_edges([], [], num_vertices=2).add_edges([0], [1]).remove_edges(
            [0], [1]
        ).added_since(0)


def test_histories_are_pickled_with_the_graphs():
    g = weft.generators.path(4)
    one, two = pickle.loads(pickle.dumps((g, g.add_edges([0], [3]))))
    assert two.added_since(one)[0].tolist() == [0] and two.version == 1


def test_carriers_are_told_of_updates(monkeypatch):
    told = []
    monkeypatch.setattr(changing, "carriers", [lambda *change: told.append(change)])
    g = weft.Graph.from_edges([0, 0, 1], [1, 1, 2])
    before = g.topology
    g.add_edges([1], [0])
    assert not told
    g.update(add=([2, 0], [0, 2]), remove=([0], [1]))
    ((old, new, change),) = told
    assert old is before and new is g.topology
    assert [end.tolist() for end in change.added] == [[2, 0], [0, 2]]
    assert [end.tolist() for end in change.removed] == [[0, 0], [1, 1]]
