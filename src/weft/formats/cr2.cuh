// Rows of one regular degree, 2^code: row and slot tell each other, without offsets.
//
// Arcs inside clusters of 2^bits vertices hold the number of their far end within the cluster, in
// one byte or two; arcs between clusters hold the vertex. With an expand list the rows of a vertex
// can be listed: its entries, rising, are its rows in all parts, each with one bit for its side (0
// inside, 1 between clusters), three bits of its code, and its number.
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
    i64 code;
    i64 first_place;

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const { return row << code; }
    WEFT_DEVICE i64 end(i64 row) const { return (row + 1) << code; }
    WEFT_DEVICE i64 owner(i64 slot) const { return slot >> code; }
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

// Rows with an expand list: those of a vertex in this part lie between two keys of its entries.
template <class Rows, class Vertex, i64 side>
struct Expanded : Rows {
    static constexpr i64 widest = 5;

    const u32* entries;    // of 64 bits if `wide`
    const Vertex* begins;  // the first entry of each vertex, and the end after the last
    i64 wide;

    WEFT_DEVICE i64 num_ranges() const { return 1; }
    WEFT_DEVICE i64 range_begin(i64 v, i64) const {
        const i64 at = first_entry(v, key());
        return has(v, at) ? number(at) : 0;
    }
    WEFT_DEVICE i64 range_end(i64 v, i64) const {
        const i64 at = first_entry(v, key());
        if (!has(v, at)) return 0;
        // Only under the widest code a vertex has several rows.
        return number(at) + (this->code < widest ? 1 : first_entry(v, key() + 1) - at);
    }

    WEFT_DEVICE i64 key() const { return side + this->code; }
    WEFT_DEVICE bool has(i64 v, i64 at) const {
        return at < static_cast<i64>(load_constant(begins + v + 1)) &&
               static_cast<i64>(entry(at) >> number_bits()) == key();
    }
    WEFT_DEVICE i64 number(i64 at) const {
        return static_cast<i64>(entry(at) & ((u64(1) << number_bits()) - 1));
    }

    WEFT_DEVICE u32 number_bits() const { return wide != 0 ? 60 : 28; }
    WEFT_DEVICE u64 entry(i64 at) const {
        return wide != 0 ? load_constant(reinterpret_cast<const u64*>(entries) + at)
                         : static_cast<u64>(load_constant(entries + at));
    }
    // The first entry of a vertex whose key is not below another one.
    WEFT_DEVICE i64 first_entry(i64 v, i64 least) const {
        i64 low = static_cast<i64>(load_constant(begins + v));
        i64 high = static_cast<i64>(load_constant(begins + v + 1));
        while (low < high) {
            const i64 middle = (low + high) / 2;
            if (static_cast<i64>(entry(middle) >> number_bits()) < least) low = middle + 1;
            else high = middle;
        }
        return low;
    }
};

template <class Vertex>
struct BetweenExpanded : Expanded<BetweenClusters<Vertex>, Vertex, 8> {
    WEFT_DEVICE BetweenExpanded(const Vertex* vertices, const Vertex* targets, const u32* entries,
                                const Vertex* begins, i64 rows, i64 slots, i64 code,
                                i64 first_place, i64 wide)
        : Expanded<BetweenClusters<Vertex>, Vertex, 8>{
              {{vertices, targets, rows, slots, code, first_place}}, entries, begins, wide} {}
};

template <class Vertex>
struct InsideExpanded : Expanded<InsideClusters<Vertex>, Vertex, 0> {
    WEFT_DEVICE InsideExpanded(const Vertex* vertices, const u8* targets, const u32* entries,
                               const Vertex* begins, i64 rows, i64 slots, i64 code,
                               i64 first_place, i64 bits, i64 wide)
        : Expanded<InsideClusters<Vertex>, Vertex, 0>{
              {{vertices, targets, rows, slots, code, first_place}, bits},
              entries, begins, wide} {}
};

}  // namespace weft

#endif
