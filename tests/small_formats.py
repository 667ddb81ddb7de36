"""Formats with parameters that suit the small graphs of tests: `FORMATS`, by name.

A format that is not mentioned here is taken as it is. Those with other kinds of parts are here too.
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
# Values of parameters that change of what kinds the parts are.
VARIANTS = {
    "ell_coo": "ell(2,rest=coo)",
    "ell_sliced": "ell(slice=4)",
    "ell_sliced_coo": "ell(1,8,coo)",
}
FORMATS = {name: name + PARAMETERS.get(name, "") for name in formats()} | VARIANTS
