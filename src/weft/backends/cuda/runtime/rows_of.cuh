// Rows of computed vertices: a neighbour by its number, common neighbours, the most frequent key.
//
// Rows are sorted by target; equal targets (parallel edges) stand side by side.
#ifndef WEFT_ROWS_OF_CUH
#define WEFT_ROWS_OF_CUH

#include "control.cuh"
#include "numbers.cuh"

namespace weft {

template <class Offset>
WEFT_DEVICE i64 row_begin(const Offset* offsets, i64 row) {
    return static_cast<i64>(load_constant(offsets + row));
}
template <class Offset>
WEFT_DEVICE i64 row_end(const Offset* offsets, i64 row) {
    return static_cast<i64>(load_constant(offsets + row + 1));
}

// The slot of the i-th arc of a row, or -1 after a fault.
template <class Offset>
WEFT_DEVICE i64 neighbor_slot(const Offset* offsets, i64 row, i64 i, Fault* fault, u32 function,
                              i64 vertex WEFT_HERE) {
    const i64 begin = row_begin(offsets, row), length = row_end(offsets, row) - begin;
    if (i >= 0 && i < length) return begin + i;
    report_index(fault, i, length, function, vertex WEFT_PASS);
    return -1;
}
template <class T>
WEFT_DEVICE i64 entry_or(const T* array, i64 slot, i64 otherwise) {
    return slot < 0 ? otherwise : static_cast<i64>(load_constant(array + slot));
}

// The first slot of a row that leads to a target, or -1.
template <class Offset, class Vertex>
WEFT_DEVICE i64 edge_slot(const Offset* offsets, const Vertex* targets, i64 row, i64 target) {
    count_search();
    const i64 end = row_end(offsets, row);
    i64 low = row_begin(offsets, row), high = end;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (static_cast<i64>(load_constant(targets + middle)) < target) low = middle + 1;
        else high = middle;
    }
    return low < end && static_cast<i64>(load_constant(targets + low)) == target ? low : -1;
}

// Two rows: the slots of the shorter one are walked, their targets are searched in the longer one.
struct RowPair {
    i64 begin, end;        // of the shorter row
    i64 low, high;         // what is left of the longer one
};
template <class Offset>
WEFT_DEVICE RowPair shorter_first(const Offset* offsets, i64 a, i64 b) {
    const RowPair pair = {row_begin(offsets, a), row_end(offsets, a), row_begin(offsets, b),
                          row_end(offsets, b)};
    if (pair.end - pair.begin <= pair.high - pair.low) return pair;
    return {pair.low, pair.high, pair.begin, pair.end};
}
// Searches that run side by side, so that their loads are under way together.
constexpr u32 searches = 4;

// Which of the slots `slot`, slot + step, ... of the shorter row have targets that are in the longer
// one too, a bit for each; of parallel arcs only the first counts. A thread asks in ascending order.
template <class Vertex>
WEFT_DEVICE u32 common_slots(const Vertex* targets, RowPair& pair, i64 slot, i64 step) {
    Vertex wanted[searches];
    i64 low[searches];
    u32 found = 0;
    WEFT_UNROLL(searches)
    for (u32 k = 0; k < searches; ++k) {
        const i64 at = slot + k * step < pair.end ? slot + k * step : slot;
        wanted[k] = load_constant(targets + at);
        low[k] = pair.low;
        const bool again = at > pair.begin && load_constant(targets + at - 1) == wanted[k];
        if (slot + k * step < pair.end && !again) found |= 1u << k;
    }
    if (pair.low == pair.high) return 0;
    i64 left = pair.high - pair.low;
    while (left > 1) {
        const i64 half = left / 2;
        WEFT_UNROLL(searches)
        for (u32 k = 0; k < searches; ++k) {
            if (load_constant(targets + low[k] + half - 1) < wanted[k]) low[k] += half;
        }
        left -= half;
    }
    WEFT_UNROLL(searches)
    for (u32 k = 0; k < searches; ++k) {
        if (load_constant(targets + low[k]) < wanted[k]) ++low[k];
        if (low[k] == pair.high || load_constant(targets + low[k]) != wanted[k]) {
            found &= ~(1u << k);
        }
    }
    pair.low = low[0];
    return found;
}

// The first slot of a row whose target is w, which the row has.
template <class Offset, class Vertex>
WEFT_DEVICE i64 slot_of(const Offset* offsets, const Vertex* targets, i64 row, i64 w) {
    i64 low = row_begin(offsets, row), left = row_end(offsets, row) - low;
    while (left > 1) {
        const i64 half = left / 2;
        if (static_cast<i64>(load_constant(targets + low + half - 1)) < w) low += half;
        left -= half;
    }
    return low;
}

// NaN comes after every number.
template <class T>
WEFT_DEVICE bool sorts_before(T a, T b) {
    return a < b || (a == a && b != b);
}

// Sort keys in place by heapsort: no memory but theirs, and never slower than n log n. What is
// carried moves with the keys.
struct Nothing {
    template <class At, class From>
    WEFT_DEVICE void copy(At, From) const {}
    WEFT_DEVICE void hold(i64) {}
    WEFT_DEVICE void drop(i64) const {}
};
template <class W>
struct Carried {
    W* weights;
    W held;
    WEFT_DEVICE void copy(i64 to, i64 from) const { weights[to] = weights[from]; }
    WEFT_DEVICE void hold(i64 from) { held = weights[from]; }
    WEFT_DEVICE void drop(i64 to) const { weights[to] = held; }
};
template <class T, class Carry>
WEFT_DEVICE void sort_keys(T* keys, i64 count, Carry carry) {
    // `key`, and what is held beside it, find their place in the heap below `root`.
    const auto sink = [&](i64 root, i64 end, T key) {
        for (i64 child = 2 * root + 1; child < end; child = 2 * root + 1) {
            if (child + 1 < end && sorts_before(keys[child], keys[child + 1])) ++child;
            if (!sorts_before(key, keys[child])) break;
            keys[root] = keys[child];
            carry.copy(root, child);
            root = child;
        }
        keys[root] = key;
        carry.drop(root);
    };
    for (i64 root = count / 2 - 1; root >= 0; --root) {
        carry.hold(root);
        sink(root, count, keys[root]);
    }
    for (i64 end = count - 1; end > 0; --end) {
        const T last = keys[end];
        carry.hold(end);
        keys[end] = keys[0];
        carry.copy(end, i64(0));
        sink(0, end, last);
    }
}

// The most frequent of one or more keys, the smallest one on ties; all NaNs are one key. The keys
// are sorted in place.
template <class T>
WEFT_DEVICE T most_frequent(T* keys, i64 count) {
    sort_keys(keys, count, Nothing{});
    T best = keys[0];
    i64 most = 0;
    for (i64 begin = 0, end = 0; begin < count; begin = end) {
        while (end < count && !sorts_before(keys[begin], keys[end])) ++end;
        if (end - begin > most) {
            most = end - begin;
            best = keys[begin];
        }
    }
    return best;
}

// The key of the greatest total weight among one or more, the smallest one on ties; a total that is
// NaN is the least. Keys and weights are sorted in place.
template <class T, class W>
WEFT_DEVICE T heaviest(T* keys, W* weights, i64 count, W& most) {
    sort_keys(keys, count, Carried<W>{weights, W{}});
    T best = keys[0];
    for (i64 begin = 0, end = 0; begin < count; begin = end) {
        W total = weights[begin];
        for (end = begin + 1; end < count && keys[end] == keys[begin]; ++end) {
            total = add(total, weights[end]);
        }
        if (begin == 0 || total > most || (most != most && total == total)) {
            most = total;
            best = keys[begin];
        }
    }
    return best;
}

// Tables of gathers by key: which entry a key has. One thread works on a table. A place holds the
// number of an entry plus one, 0 for none; at most half of them are taken.
WEFT_DEVICE void clear_table(i64* table, i64 size) {
    for (i64 place = 0; place < size; ++place) table[place] = 0;
}

// The number of the entry of a key; a new one becomes entry `count`.
template <class Key>
WEFT_DEVICE i64 entry_of(Key* keys, i64* table, i64 size, i64 count, Key key) {
    constexpr u64 multiplier = 0x9E3779B97F4A7C15ull;  // 2^64 divided by the golden ratio, odd
    const u64 spread = (static_cast<u64>(key) * multiplier) >> 32;
    for (i64 place = static_cast<i64>((spread * static_cast<u64>(size)) >> 32);;) {
        const i64 held = table[place];
        if (held == 0) {
            table[place] = count + 1;
            keys[count] = key;
            return count;
        }
        if (keys[held - 1] == key) return held - 1;
        if (++place == size) place = 0;
    }
}

// Sort entries by their keys, in place by heapsort.
template <class Key, class Held>
WEFT_DEVICE void sort_entries(Key* keys, Held* values, i64 count) {
    const auto swap = [=](i64 a, i64 b) {
        const Key key = keys[a];
        const Held value = values[a];
        keys[a] = keys[b];
        values[a] = values[b];
        keys[b] = key;
        values[b] = value;
    };
    const auto sink = [=](i64 root, i64 end) {
        for (i64 child = 2 * root + 1; child < end; child = 2 * root + 1) {
            if (child + 1 < end && keys[child] < keys[child + 1]) ++child;
            if (!(keys[root] < keys[child])) break;
            swap(root, child);
            root = child;
        }
    };
    for (i64 root = count / 2 - 1; root >= 0; --root) sink(root, count);
    for (i64 end = count - 1; end > 0; --end) {
        swap(0, end);
        sink(0, end);
    }
}

}  // namespace weft

#endif
