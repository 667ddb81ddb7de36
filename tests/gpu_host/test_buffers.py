"""Every argument of a kernel is declared once, and something binds it."""

from weft.backends.cuda.codegen.buffers import BUFFERS
from weft.backends.cuda.host.bind import Binder


def test_every_declared_argument_can_be_bound():
    assert [kind for kind in BUFFERS if not hasattr(Binder, f"_{kind}")] == []
