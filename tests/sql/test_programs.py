"""Random programs do in DuckDB what they do on the interpreter, under each form of a superstep."""

from hypothesis import Phase, given, settings

from oracle import assert_same, run_interpreted, run_on
from programs import cases, fixpoints
from weft.backends.relational.backend import BACKEND
from weft.backends.relational.engines import PLANS
from weft.errors import ConfigError

PHASES = (Phase.generate,)  # shrinking takes minutes
REFUSED, RUN = [], []


def check(con, engine, case, same_steps=True):
    arguments = {"mode": case.mode, **case.options()}
    given_ = (case.functions(), case.state(), case.frontier)
    want = run_interpreted(case.graph(), *given_, **arguments)
    g = case.graph().to(con)
    for plan in PLANS[1:]:
        engine.plan = plan
        try:
            got = run_on(BACKEND, g, *given_, **arguments)
        except ConfigError as error:
            REFUSED.append(str(error))
            continue
        RUN.append(plan)
        if not same_steps:
            got.outcome.steps = want.outcome.steps
        assert_same(want, got)


def test_bounded_programs_agree(con, engine):
    @given(case=cases())
    @settings(max_examples=14, derandomize=True, deadline=None, phases=PHASES)
    def run(case):
        check(con, engine, case)

    run()


def test_programs_that_run_to_a_fixpoint_agree(con, engine):
    @given(case=fixpoints())
    @settings(max_examples=8, derandomize=True, deadline=None, phases=PHASES)
    def run(case):
        check(con, engine, case, same_steps=False)

    run()


def test_few_programs_are_refused():
    assert len(REFUSED) <= 0.15 * (len(REFUSED) + len(RUN)), REFUSED[:3]
