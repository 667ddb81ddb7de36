// A row that a block works on, as a set in shared memory: which vertices it points to.
//
// Common neighbours of the row's vertex and another one are then found by walking the other row,
// one look per slot, in place of a search. (S. Pandey et al., TRUST: triangle counting reloaded on
// GPUs, TPDS 2021.)
#ifndef WEFT_MARKER_CUH
#define WEFT_MARKER_CUH

#include "rows_of.cuh"

namespace weft {

template <class Vertex>
struct Marker {
    Vertex* table;  // in shared memory, 2^most_bits entries
    u32 most_bits;
    u32 bits = 0;   // of the entries that the present row uses
    bool on = false;

    static constexpr u32 least_bits = 8;

    WEFT_DEVICE Marker(unsigned char* memory, u32 most)
        : table(reinterpret_cast<Vertex*>(memory)), most_bits(most) {}

    WEFT_DEVICE u32 place_of(Vertex w) const {
        return (static_cast<u32>(w) * 2654435769u) >> (32 - bits);
    }
    // All threads of the block. A quarter of the table is filled, where there is room: most looks
    // are in vain, and end at the first empty entry. A row for more than half of it is not held.
    WEFT_DEVICE void hold(const Vertex* targets, i64 begin, i64 end) {
        bits = least_bits;
        while (bits < most_bits && (i64(1) << bits) < 4 * (end - begin)) ++bits;
        on = bits <= most_bits && 2 * (end - begin) <= (i64(1) << bits);
        if (!on) return;
        const u32 size = 1u << bits;
        for (u32 i = thread_id(); i < size; i += block_size()) table[i] = Vertex(-1);
        sync_block();
        for (i64 slot = begin + thread_id(); slot < end; slot += block_size()) {
            const Vertex w = load_constant(targets + slot);
            u32 at = place_of(w);
            for (;;) {
                const Vertex held = atomic_cas(table + at, Vertex(-1), w);
                if (held == Vertex(-1) || held == w) break;
                at = (at + 1) & (size - 1);
            }
        }
        sync_block();
    }
    WEFT_DEVICE void release() {
        if (!on) return;
        sync_block();  // The table is no longer read.
        on = false;
    }
    WEFT_DEVICE bool has(Vertex w) const {
        const u32 last = (1u << bits) - 1;
        for (u32 at = place_of(w);; at = (at + 1) & last) {
            const Vertex held = table[at];
            if (held == w) return w != Vertex(-1);
            if (held == Vertex(-1)) return false;
        }
    }
};

template <class Offset>
WEFT_DEVICE RowPair single_row(const Offset* offsets, i64 row) {
    return {row_begin(offsets, row), row_end(offsets, row), 0, 0};
}

// Which of the slots `slot`, slot + step, ... of a row have targets that are marked, a bit for each;
// of parallel arcs only the first counts.
template <class Vertex>
WEFT_DEVICE u32 marked_slots(const Vertex* targets, const RowPair& row, i64 slot, i64 step,
                             const Marker<Vertex>& marker) {
    Vertex asked[searches];
    u32 found = 0;
    WEFT_UNROLL(searches)
    for (u32 k = 0; k < searches; ++k) {
        const i64 at = slot + k * step;
        asked[k] = at < row.end ? load_constant(targets + at) : Vertex(-1);
    }
    WEFT_UNROLL(searches)
    for (u32 k = 0; k < searches; ++k) {
        if (!marker.has(asked[k])) continue;
        const i64 at = slot + k * step;
        if (at > row.begin && load_constant(targets + at - 1) == asked[k]) continue;
        found |= 1u << k;
    }
    return found;
}

}  // namespace weft

#endif
