"""Fields and scalars may have names that mean something in C++."""

import weft


@weft.vertex
def extremes(v):
    weft.reduce("least", weft.cast(v.id, weft.int64), weft.max)
    weft.reduce("infinity", v.double, weft.min)
    v.double = v.double + v.greatest


def test_names_that_c_or_the_runtime_takes():
    g = weft.generators.path(5).to("emulated")
    state = g.state(double=1.0, greatest=2.0, least=weft.scalar(0), infinity=weft.scalar(0.0))
    g.run(extremes, state)
    assert (state.least, state.infinity) == (4, 1.0)
    assert state.double.tolist() == [3.0] * 5
