"""Compiled access to the dictionaries of a NetworkX graph: reads rows and values, writes rows.

The kernels call CPython's C API by name on the addresses of live dictionaries. They hold the GIL,
run no Python code, and give up (with a status code, never an exception) on anything but plain
dictionaries, floats, integers and booleans.

Both directions of an edge share one dictionary of attributes (of keys, in a multigraph). Its
address therefore pairs the two entries without looking up the labels of the far ends: a hash table
of addresses costs one cache miss per entry, a label lookup four.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from numba import types

from weft.storage.compiled import njit

MISSING: Final = 1  # what `read_values` encountered, as bits
FLOAT: Final = 2
INTEGER: Final = 4
BOOLEAN: Final = 8
OTHER: Final = 16

_MIX = np.uint64(0x9E3779B97F4A7C15)
_LOW = 0xFFFFFFFF


def _c(name: str, result: Any, *arguments: Any) -> Any:
    return types.ExternalFunction(name, result(*arguments))


_address = types.intp
next_item = _c("PyDict_Next", types.intc, _address, _address, _address, _address)
item = _c("PyDict_GetItemWithError", _address, _address, _address)
put_item = _c("PyDict_SetItem", types.intc, _address, _address, _address)
size_of = _c("PyDict_Size", _address, _address)
type_of = _c("PyObject_Type", _address, _address)
release = _c("Py_DecRef", types.void, _address)
failed = _c("PyErr_Occurred", _address)
forget_error = _c("PyErr_Clear", types.void)
as_double = _c("PyFloat_AsDouble", types.double, _address)
as_integer = _c("PyLong_AsLongLongAndOverflow", types.longlong, _address, _address)


def can_read() -> bool:
    """Whether the interpreter keeps the GIL and has CPython's dictionaries."""
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and has_gil()


@njit(cache=True)
def pair_entries(
    adjacency: int, incoming: int, table: Any, offsets: Any, targets: Any, partner: Any
) -> int:
    """Fill the rows of an adjacency; return the number of entries without a partner, or -1.

    Parameters
    ----------
    adjacency, incoming
        Addresses of the dictionaries of rows, and of those by target; 0 if undirected.
    table
        Zeros: two words per place (address, entry and row), a power of two of places.
    offsets, targets
        Where each row begins; the row of each entry's far end.
    partner
        Undirected: the earlier entry of the same edge, -1 for the first. Directed: the entry in
        `adjacency` of each entry in `incoming`.
    """
    items = np.zeros(6, np.intp)
    at = items.ctypes.data
    mask = table.size // 2 - 1
    entry, row, alone = 0, 0, 0
    while next_item(adjacency, at, at + 8, at + 16):
        items[3] = 0
        while next_item(items[2], at + 24, at + 32, at + 40):
            if entry >= targets.size:
                return -1
            key = items[5]
            place = np.intp((np.uint64(key >> 4) * _MIX) >> np.uint64(20)) & mask
            while table[2 * place] != 0 and table[2 * place] != key:
                place = (place + 1) & mask
            targets[entry] = row
            if table[2 * place] == 0:
                table[2 * place] = key
                table[2 * place + 1] = (entry << 32) | row
                alone += 1
                if incoming == 0:
                    partner[entry] = -1
            else:
                if incoming != 0 or table[2 * place + 1] < 0:
                    return -1  # one dictionary for several edges
                first = table[2 * place + 1]
                table[2 * place + 1] = -1
                targets[entry] = first & _LOW
                targets[first >> 32] = row
                partner[entry] = first >> 32
                alone -= 1
            entry += 1
        row += 1
        offsets[row] = entry
    if incoming == 0:
        return alone if entry == targets.size else -1
    items[0], row, entry = 0, 0, 0
    while next_item(incoming, at, at + 8, at + 16):
        items[3] = 0
        while next_item(items[2], at + 24, at + 32, at + 40):
            key = items[5]
            place = np.intp((np.uint64(key >> 4) * _MIX) >> np.uint64(20)) & mask
            while table[2 * place] != 0 and table[2 * place] != key:
                place = (place + 1) & mask
            first = table[2 * place + 1]
            if table[2 * place] == 0 or first < 0 or entry >= partner.size:
                return -1
            table[2 * place + 1] = -1
            targets[first >> 32] = row
            partner[entry] = first >> 32
            entry += 1
        row += 1
    return 0 if entry == targets.size and alone == entry else -1


@njit(cache=True)
def entry_addresses(adjacency: int, targets: Any, upper: bool, found: Any) -> int:
    """Collect the dictionary of each entry; with `upper` only where the target is not before."""
    items = np.zeros(6, np.intp)
    at = items.ctypes.data
    entry, row, count = 0, 0, 0
    while next_item(adjacency, at, at + 8, at + 16):
        items[3] = 0
        while next_item(items[2], at + 24, at + 32, at + 40):
            if entry >= targets.size:
                return -1
            if not upper or targets[entry] >= row:
                if count >= found.size:
                    return -1
                found[count] = items[5]
                count += 1
            entry += 1
        row += 1
    return count


@njit(cache=True)
def value_addresses(dictionaries: Any, found: Any) -> int:
    """Collect the values of several dictionaries; return their number, or -1."""
    items = np.zeros(3, np.intp)
    at = items.ctypes.data
    count = 0
    for d in dictionaries:
        items[0] = 0
        while next_item(d, at, at + 8, at + 16):
            if count >= found.size:
                return -1
            found[count] = items[2]
            count += 1
    return count


@njit(cache=True)
def sizes(dictionaries: Any, found: Any) -> bool:
    """Store the sizes of dictionaries; False if one is not a dictionary."""
    for i in range(dictionaries.size):
        found[i] = size_of(dictionaries[i])
        if found[i] < 0:
            forget_error()
            return False
    return True


@njit(cache=True)
def read_values(
    dictionaries: Any, order: Any, name: int, kinds: Any, floats: Any, integers: Any
) -> int:
    """Read one attribute from every dictionary, in a given order; return the cases met, as bits.

    `kinds` has the addresses of the types float, numpy.float64, int and bool.
    """
    overflow = np.zeros(1, np.int64)
    at = overflow.ctypes.data
    met = 0
    for i in order:
        value = item(dictionaries[i], name)
        if value == 0:
            if failed() != 0:
                forget_error()
                met |= OTHER
            met |= MISSING
            floats[i] = np.nan
            integers[i] = 0
            continue
        kind = type_of(value)
        release(kind)
        if kind == kinds[0] or kind == kinds[1]:
            met |= FLOAT
            floats[i] = as_double(value)
            integers[i] = 1  # present, even if NaN
        elif kind == kinds[2] or kind == kinds[3]:
            met |= INTEGER if kind == kinds[2] else BOOLEAN
            number = as_integer(value, at)
            if overflow[0] != 0:
                overflow[0] = 0
                met |= OTHER
            integers[i] = number
            floats[i] = number
        else:
            met |= OTHER
    return met


@njit(cache=True)
def attribute_names(dictionaries: Any, names: Any) -> int:
    """Collect the addresses of distinct keys; return their number, or -1 if there is no room."""
    items = np.zeros(3, np.intp)
    at = items.ctypes.data
    count = 0
    for d in dictionaries:
        items[0] = 0
        while next_item(d, at, at + 8, at + 16):
            known = False
            for k in range(count):
                if names[k] == items[1]:
                    known = True
                    break
            if not known:
                if count == names.size:
                    return -1
                names[count] = items[1]
                count += 1
    return count


@njit(cache=True)
def fill_rows(rows: Any, nodes: Any, data: Any, offsets: Any, targets: Any, edges: Any) -> bool:
    """Store the entries of all rows in their dictionaries; False if memory ran out.

    Parameters
    ----------
    rows, nodes, data
        Addresses: of the dictionary of each row, of its label (an int or a str, so that hashing
        runs no Python code), of the attributes of each edge.
    offsets, targets, edges
        Where each row begins, and the row of the far end and the edge of each entry; without
        `edges` entries are in the order of the edges.
    """
    for row in range(rows.size):
        for entry in range(offsets[row], offsets[row + 1]):
            edge = edges[entry] if edges.size else entry
            if put_item(rows[row], nodes[targets[entry]], data[edge]) != 0:
                forget_error()
                return False
    return True
