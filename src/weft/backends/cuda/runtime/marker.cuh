// A row that a block works on, as a set in shared memory: which vertices it points to.
//
// Common neighbours of the row's vertex and another one are then found by walking the other row,
// one look per slot, in place of a search. (S. Pandey et al., TRUST: triangle counting reloaded on
// GPUs, TPDS 2021.) Where the dense beginnings of rows are at hand as bits (topology/row_bits.py),
// the first targets are kept as bits too, and words are compared in place of slots.
#ifndef WEFT_MARKER_CUH
#define WEFT_MARKER_CUH

#include "rows_of.cuh"

namespace weft {

constexpr u32 block_bits = 9;  // of a block of vertices, as a power of two
constexpr u32 block_words = 1u << (block_bits - 6);
constexpr i64 window_blocks = 128;  // that a block of threads keeps bits of
constexpr u32 head_fields = 4;

template <class Vertex>
struct Marker {
    Vertex* table;  // in shared memory, 2^most_bits entries
    u32 most_bits;
    u32 bits = 0;   // of the entries that the present row uses
    bool on = false;
    u64* window = nullptr;  // in shared memory, a bit for each vertex from a block on
    i64 window_block = 0;   // the first of them
    i64 window_reach = 0;   // blocks that hold bits of the present row
    bool within = false;    // all of the row lies in the window

    static constexpr u32 least_bits = 8;

    WEFT_DEVICE Marker(unsigned char* memory, u32 most, bool windows)
        : table(reinterpret_cast<Vertex*>(memory)), most_bits(most) {
        if (windows) window = reinterpret_cast<u64*>(memory + (sizeof(Vertex) << most));
    }

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
        if (window != nullptr) open_window(targets, begin, end);
        sync_block();
        for (i64 slot = begin + thread_id(); slot < end; slot += block_size()) {
            const Vertex w = load_constant(targets + slot);
            if (window != nullptr) {
                const i64 word = (static_cast<i64>(w) >> 6) - window_block * block_words;
                if (word < window_blocks * block_words) {
                    atomic_or(window + word, u64(1) << (static_cast<u64>(w) & 63));
                }
            }
            u32 at = place_of(w);
            for (;;) {
                const Vertex held = atomic_cas(table + at, Vertex(-1), w);
                if (held == Vertex(-1) || held == w) break;
                at = (at + 1) & (size - 1);
            }
        }
        sync_block();
    }
    // All threads of the block: clear the bits that the row may set.
    WEFT_DEVICE void open_window(const Vertex* targets, i64 begin, i64 end) {
        window_reach = 0;
        within = true;
        if (begin == end) return;
        window_block = static_cast<i64>(load_constant(targets + begin)) >> block_bits;
        const i64 last = static_cast<i64>(load_constant(targets + end - 1)) >> block_bits;
        within = last - window_block < window_blocks;
        window_reach = within ? last - window_block + 1 : window_blocks;
        for (u32 i = thread_id(); i < window_reach * block_words; i += block_size()) window[i] = 0;
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

// The bits of a row's head that lie in the window of a marker.
struct Head {
    const u64* words;
    const u64* marks;
    i64 count;    // of words
    i64 first;    // the vertex of the first bit
    i64 covered;  // slots of the row that need no look any more

    // Those set in both of a word.
    WEFT_DEVICE u64 shared_by(i64 k) const { return load_constant(words + k) & marks[k]; }
};
template <class Vertex>
WEFT_DEVICE Head head_of(const i64* rows, const u64* words, i64 row, const Marker<Vertex>& marker) {
    if (!marker.on) return {words, marker.window, 0, 0, 0};
    const i64* numbers = rows + head_fields * row;
    const i64 begin = load_constant(numbers), first = load_constant(numbers + 1);
    const i64 end = first + load_constant(numbers + 2);
    const i64 window = marker.window_block;
    if (first == end || (!marker.within && end > window + window_blocks)) {
        return {words, marker.window, 0, 0, 0};  // marks beyond the window are in the table alone
    }
    const i64 low = first > window ? first : window;
    const i64 high = end < window + marker.window_reach ? end : window + marker.window_reach;
    return {words + (begin + low - first) * block_words, marker.window + (low - window) * block_words,
            high > low ? (high - low) * block_words : 0, low << block_bits,
            load_constant(numbers + 3)};
}
// How many vertices of a head are marked, among the words that a lane of so many takes.
WEFT_DEVICE u32 count_shared(const Head& head, i64 lane, i64 lanes) {
    u32 total = 0;
    for (i64 k = lane; k < head.count; k += searches * lanes) {
        u64 word[searches];  // loads that are under way together
        WEFT_UNROLL(searches)
        for (u32 j = 0; j < searches; ++j) {
            const i64 at = k + j * lanes;
            word[j] = at < head.count ? load_constant(head.words + at) : 0;
        }
        WEFT_UNROLL(searches)
        for (u32 j = 0; j < searches; ++j) {
            const i64 at = k + j * lanes;
            if (at < head.count) total += popcount(word[j] & head.marks[at]);
        }
    }
    return total;
}

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
