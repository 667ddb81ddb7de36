"""The exceptions, and the wording that they share."""

import pytest

from weft import errors


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.GraphError, ValueError),
        (errors.ConfigError, ValueError),
        (errors.TraceError, TypeError),
        (errors.FieldError, AttributeError),
        (errors.FaultError, RuntimeError),
        (errors.ConvergenceError, RuntimeError),
        (errors.DeviceError, RuntimeError),
        (errors.DeviceMemoryError, MemoryError),
        (errors.VerifyError, AssertionError),
    ],
)
def test_errors_derive_from_weft_error_and_the_nearest_builtin(error, builtin):
    assert issubclass(error, errors.WeftError)
    assert issubclass(error, builtin)


def test_every_exception_has_a_docstring_of_its_own():
    classes = [c for c in vars(errors).values() if getattr(c, "__module__", "") == errors.__name__]
    classes = [c for c in classes if isinstance(c, type)]
    assert len(classes) > 1
    assert all(issubclass(c, errors.WeftError) and "__doc__" in vars(c) for c in classes)
    assert all(c.__doc__ for c in classes)


def test_listed_quotes_strings_and_leaves_numbers():
    assert errors.listed(["push", 3]) == "'push', 3"
    assert errors.listed([]) == ""


def test_nearest_suggests_only_what_is_close():
    assert errors.nearest("wrap", ["vertex", "warp"]) == " Did you mean 'warp'?"
    assert errors.nearest("zzz", ["vertex", "warp"]) == ""
    assert errors.nearest("warp", []) == ""


def test_unknown_says_what_was_got_what_was_expected_and_what_is_close():
    assert errors.unknown("schedule", "wrap", ["vertex", "edge", "warp"]) == (
        "schedule='wrap' is not known. Expected one of 'vertex', 'edge', 'warp'. "
        "Did you mean 'warp'?"
    )


def test_unknown_takes_values_that_are_not_strings():
    assert errors.unknown("lanes", 3, [1, 2, 4]) == "lanes=3 is not known. Expected one of 1, 2, 4."
    assert errors.unknown("lanes", "3", iter([1, "2"])).startswith("lanes='3' is not known.")
