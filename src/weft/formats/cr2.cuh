// Rows of regular degrees: those of 32 slots, then those of 16, 8, 4, 2 and 1, without offsets.
//
// Arcs inside clusters of 2^bits vertices hold the number of their far end within the cluster, in
// one byte or two; arcs between clusters hold the vertex. With an expand list the rows of a vertex
// can be listed: its entries, rising, are its rows on both sides, each with one bit for its side (0
// inside, 1 between clusters), three bits for the code of its degree, and its number.
#ifndef WEFT_FORMAT_CR2_CUH
#define WEFT_FORMAT_CR2_CUH

#include "sweep.cuh"

namespace weft {

template <class Vertex, class Target>
struct RegularRows {
    static constexpr bool packed = true;
    static constexpr bool full_rows = true;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = true;

    const Vertex* vertices;  // by row
    const Target* targets;   // by slot
    i64 rows;
    i64 slots;
    i64 first_place;
    i64 end_32;  // where the rows of one degree end
    i64 end_16;
    i64 end_8;
    i64 end_4;
    i64 end_2;

    static WEFT_DEVICE i64 least(i64 a, i64 b) { return a < b ? a : b; }

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    // A row before all ends has 1 + 1 + 2 + 4 + 8 + 16 slots; each end that it is beyond halves it.
    WEFT_DEVICE i64 begin(i64 row) const {
        return row + least(row, end_2) + (least(row, end_4) << 1) + (least(row, end_8) << 2) +
               (least(row, end_16) << 3) + (least(row, end_32) << 4);
    }
    WEFT_DEVICE i64 end(i64 row) const { return begin(row + 1); }
    // From the rows of one degree to those of the next, as long as the slot is beyond them.
    WEFT_DEVICE i64 owner(i64 slot) const {
        i64 left = slot;
        if (left < end_32 << 5) return left >> 5;
        left -= end_32 << 5;
        if (left < (end_16 - end_32) << 4) return end_32 + (left >> 4);
        left -= (end_16 - end_32) << 4;
        if (left < (end_8 - end_16) << 3) return end_16 + (left >> 3);
        left -= (end_8 - end_16) << 3;
        if (left < (end_4 - end_8) << 2) return end_8 + (left >> 2);
        left -= (end_4 - end_8) << 2;
        if (left < (end_2 - end_4) << 1) return end_4 + (left >> 1);
        return end_2 + left - ((end_2 - end_4) << 1);
    }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE i64 place(i64 slot, i64) const { return first_place + slot; }
    WEFT_DEVICE i64 vertex(i64 row) const {
        return static_cast<i64>(load_constant(vertices + row));
    }
};

template <class Vertex>
struct BetweenClusters : RegularRows<Vertex, Vertex> {
    WEFT_DEVICE i64 target(i64 slot, i64) const {
        return static_cast<i64>(load_constant(this->targets + slot));
    }
};

template <class Vertex>
struct InsideClusters : RegularRows<Vertex, u8> {
    i64 bits;

    WEFT_DEVICE i64 target(i64 slot, i64 row) const {
        const i64 first = this->vertex(row) >> bits << bits;
        if (bits <= 8) return first + static_cast<i64>(load_constant(this->targets + slot));
        const auto* numbers = reinterpret_cast<const unsigned short*>(this->targets);
        return first + static_cast<i64>(load_constant(numbers + slot));
    }
};

// Rows with an expand list: those of a vertex and a code lie between two keys of its entries.
template <class Rows, class Vertex, i64 side>
struct Expanded : Rows {
    static constexpr i64 codes = 6;

    const u32* entries;    // of 64 bits if `wide`
    const Vertex* begins;  // the first entry of each vertex, and the end after the last
    i64 wide;

    // The entries of a vertex one after another; the rows of 32 follow each other, and are the last.
    struct Ranges {
        const Expanded& list;
        i64 at;
        i64 last;
        WEFT_DEVICE bool next(i64& begin, i64& end) {
            if (at >= last) return false;
            const u64 entry = list.entry(at);
            const i64 key = static_cast<i64>(entry >> list.number_bits());
            if (key >= side + codes) return false;
            begin = static_cast<i64>(entry & ((u64(1) << list.number_bits()) - 1));
            const i64 beyond = key < side + codes - 1 ? at + 1 : list.first(at, last, side + codes);
            end = begin + beyond - at;
            at = beyond;
            return true;
        }
    };
    WEFT_DEVICE Ranges ranges(i64 v) const {
        const i64 begin = static_cast<i64>(load_constant(begins + v));
        const i64 end = static_cast<i64>(load_constant(begins + v + 1));
        return {*this, side == 0 ? begin : first(begin, end, side), end};
    }

    WEFT_DEVICE u32 number_bits() const { return wide != 0 ? 60 : 28; }
    WEFT_DEVICE u64 entry(i64 at) const {
        return wide != 0 ? load_constant(reinterpret_cast<const u64*>(entries) + at)
                         : static_cast<u64>(load_constant(entries + at));
    }
    // The first of some entries whose key is not below another one.
    WEFT_DEVICE i64 first(i64 low, i64 high, i64 key) const {
        while (low < high) {
            const i64 middle = (low + high) / 2;
            if (static_cast<i64>(entry(middle) >> number_bits()) < key) low = middle + 1;
            else high = middle;
        }
        return low;
    }
};

template <class Vertex>
struct BetweenExpanded : Expanded<BetweenClusters<Vertex>, Vertex, 8> {
    WEFT_DEVICE BetweenExpanded(const Vertex* vertices, const Vertex* targets, const u32* entries,
                                const Vertex* begins, i64 rows, i64 slots, i64 first_place,
                                i64 end_32, i64 end_16, i64 end_8, i64 end_4, i64 end_2, i64 wide)
        : Expanded<BetweenClusters<Vertex>, Vertex, 8>{
              {{vertices, targets, rows, slots, first_place, end_32, end_16, end_8, end_4, end_2}},
              entries, begins, wide} {}
};

template <class Vertex>
struct InsideExpanded : Expanded<InsideClusters<Vertex>, Vertex, 0> {
    WEFT_DEVICE InsideExpanded(const Vertex* vertices, const u8* targets, const u32* entries,
                               const Vertex* begins, i64 rows, i64 slots, i64 first_place,
                               i64 end_32, i64 end_16, i64 end_8, i64 end_4, i64 end_2, i64 bits,
                               i64 wide)
        : Expanded<InsideClusters<Vertex>, Vertex, 0>{
              {{vertices, targets, rows, slots, first_place, end_32, end_16, end_8, end_4, end_2},
               bits},
              entries, begins, wide} {}
};

}  // namespace weft

#endif
