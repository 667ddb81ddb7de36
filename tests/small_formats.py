"""Formats with parameters that suit the small graphs of tests: `FORMATS`, by name.

A format that is not mentioned here is taken as it is.
"""

from weft.formats import formats

PARAMETERS = {
    "block_coo": "(both,3,vertices)",
    "block_csr": "(dest,3)",
    "cr2": "(3)",
    "cr2_bare": "(9)",  # numbers of two bytes
    "dia": "(4,0)",
    "ell": "(3)",
    "gshard": "(16)",
    "tigr": "(3)",
}
FORMATS = {name: name + PARAMETERS.get(name, "") for name in formats()}
