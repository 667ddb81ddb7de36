// Rows of regular degrees, without offsets: those of arcs inside clusters, then those between them.
//
// On each side the rows of 32 slots come first, then those of 16, 8, 4, 2 and 1. Arcs inside
// clusters of 2^bits vertices hold the number of their far end within the cluster, in one byte or
// two; arcs between clusters hold the vertex. With an expand list the rows of a vertex can be
// listed: its entries, rising, are its rows, each with one bit for its side (0 inside, 1 between
// clusters), three bits for the code of its degree, and its number.
#ifndef WEFT_FORMAT_CR2_CUH
#define WEFT_FORMAT_CR2_CUH

#include "sweep.cuh"

namespace weft {

// Where the rows of one degree end, on one side.
struct RowEnds {
    i64 end_32;
    i64 end_16;
    i64 end_8;
    i64 end_4;
    i64 end_2;

    static WEFT_DEVICE i64 least(i64 a, i64 b) { return a < b ? a : b; }

    // A row before all ends has 1 + 1 + 2 + 4 + 8 + 16 slots; each end that it is beyond halves it.
    WEFT_DEVICE i64 begin(i64 row) const {
        return row + least(row, end_2) + (least(row, end_4) << 1) + (least(row, end_8) << 2) +
               (least(row, end_16) << 3) + (least(row, end_32) << 4);
    }
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
};

template <class Vertex>
struct RegularRows {
    static constexpr bool packed = true;
    static constexpr bool full_rows = true;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = true;

    const Vertex* vertices;  // by row
    const u8* near;          // by slot inside clusters
    const Vertex* far;       // by slot between them
    i64 rows;
    i64 slots;
    i64 near_rows;
    i64 near_slots;
    RowEnds near_ends;
    RowEnds far_ends;
    i64 bits;

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const {
        return row < near_rows ? near_ends.begin(row)
                               : near_slots + far_ends.begin(row - near_rows);
    }
    WEFT_DEVICE i64 end(i64 row) const { return begin(row + 1); }
    WEFT_DEVICE i64 owner(i64 slot) const {
        return slot < near_slots ? near_ends.owner(slot)
                                 : near_rows + far_ends.owner(slot - near_slots);
    }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE i64 place(i64 slot, i64) const { return slot; }
    WEFT_DEVICE i64 vertex(i64 row) const {
        return static_cast<i64>(load_constant(vertices + row));
    }
    WEFT_DEVICE i64 target(i64 slot, i64 row) const {
        return target_from(slot, row, row < near_rows ? vertex(row) : 0);
    }
    // The same where the vertex of the row is known.
    WEFT_DEVICE i64 target_from(i64 slot, i64 row, i64 v) const {
        if (row >= near_rows) return static_cast<i64>(load_constant(far + (slot - near_slots)));
        const i64 first = v >> bits << bits;
        if (bits <= 8) return first + static_cast<i64>(load_constant(near + slot));
        const auto* numbers = reinterpret_cast<const unsigned short*>(near);
        return first + static_cast<i64>(load_constant(numbers + slot));
    }

    // Rows of four slots and more begin at a multiple of four of their side.
    WEFT_DEVICE bool four_targets(i64 slot, i64 row, i64 (&targets)[4]) const {
        const bool inside = row < near_rows;
        if ((inside ? slot : slot - near_slots) % 4 != 0) return false;
        four_from(slot, row, inside ? vertex(row) : 0, targets);
        return true;
    }
    // The same where they are known to lie so, and the vertex of the row is known.
    WEFT_DEVICE void four_from(i64 slot, i64 row, i64 v, i64 (&targets)[4]) const {
        const bool inside = row < near_rows;
        const i64 at = inside ? slot : slot - near_slots;
        if (!inside) {
            load_four(far + at, targets);
            return;
        }
        u64 word = 0;
        if (bits <= 8) word = load_constant(reinterpret_cast<const u32*>(near + at));
        else word = load_constant(reinterpret_cast<const u64*>(near + 2 * at));
        const i64 first = v >> bits << bits;
        const u32 width = bits <= 8 ? 8 : 16;
        WEFT_UNROLL(4)
        for (u32 k = 0; k < 4; ++k) {
            targets[k] = first + static_cast<i64>(word >> (k * width) & ((u64(1) << width) - 1));
        }
    }

 private:
    static WEFT_DEVICE void load_four(const i32* words, i64 (&targets)[4]) {
        const auto* pairs = reinterpret_cast<const u64*>(words);
        WEFT_UNROLL(2)
        for (u32 k = 0; k < 2; ++k) {
            const u64 pair = load_constant(pairs + k);
            targets[2 * k] = static_cast<i64>(static_cast<i32>(pair));
            targets[2 * k + 1] = static_cast<i64>(static_cast<i32>(pair >> 32));
        }
    }
    static WEFT_DEVICE void load_four(const i64* words, i64 (&targets)[4]) {
        WEFT_UNROLL(4)
        for (u32 k = 0; k < 4; ++k) targets[k] = load_constant(words + k);
    }
};

template <class Vertex>
struct BareRows : RegularRows<Vertex> {
    WEFT_DEVICE BareRows(const Vertex* vertices, const u8* near, const Vertex* far, i64 rows,
                         i64 slots, i64 near_rows, i64 near_slots, i64 near_32, i64 near_16,
                         i64 near_8, i64 near_4, i64 near_2, i64 far_32, i64 far_16, i64 far_8,
                         i64 far_4, i64 far_2, i64 bits)
        : RegularRows<Vertex>{vertices,  near,
                              far,       rows,
                              slots,     near_rows,
                              near_slots, {near_32, near_16, near_8, near_4, near_2},
                              {far_32, far_16, far_8, far_4, far_2}, bits} {}
};

// Rows with an expand list.
template <class Vertex>
struct ExpandedRows : BareRows<Vertex> {
    const u32* entries;    // of 64 bits if `wide`
    const Vertex* begins;  // the first entry of each vertex, and the end after the last
    i64 wide;
    i64 few;

    WEFT_DEVICE ExpandedRows(const Vertex* vertices, const u8* near, const Vertex* far,
                             const u32* entries, const Vertex* begins, i64 rows, i64 slots,
                             i64 near_rows, i64 near_slots, i64 near_32, i64 near_16, i64 near_8,
                             i64 near_4, i64 near_2, i64 far_32, i64 far_16, i64 far_8, i64 far_4,
                             i64 far_2, i64 bits, i64 wide, i64 few)
        : BareRows<Vertex>(vertices, near, far, rows, slots, near_rows, near_slots, near_32,
                           near_16, near_8, near_4, near_2, far_32, far_16, far_8, far_4, far_2,
                           bits),
          entries(entries),
          begins(begins),
          wide(wide),
          few(few) {}

    // The entries of a vertex one after another; the rows of 32 of a side follow each other, which
    // is looked for where there are many.
    struct Ranges {
        static constexpr i64 near_32 = 5, far_32 = 13, far_side = 8;  // keys
        static constexpr i64 few = 16;
        const ExpandedRows& list;
        i64 at;
        i64 last;
        WEFT_DEVICE bool next(i64& begin, i64& end) {
            if (at >= last) return false;
            const u64 entry = list.entry(at);
            const i64 key = static_cast<i64>(entry >> list.number_bits());
            i64 beyond = at + 1;
            if (last - at > few) {
                if (key == far_32) beyond = last;
                else if (key == near_32) beyond = list.first(at, last, far_side);
            }
            begin = list.number(entry);
            end = begin + beyond - at;
            at = beyond;
            return true;
        }
        WEFT_DEVICE i64 count() const { return last - at; }
    };
    WEFT_DEVICE Ranges ranges(i64 v) const {
        return {*this, static_cast<i64>(load_constant(begins + v)),
                static_cast<i64>(load_constant(begins + v + 1))};
    }

    // The arcs of a vertex: an entry tells the length of its row, and the vertex is known. Rows of
    // four and more come by fours, so that their slots stay multiples of four.
    struct Arcs {
        const ExpandedRows& list;
        i64 vertex;
        i64 at;
        i64 last;
        i64 present;  // row
        i64 slot;     // of it, the next one
        u32 left;     // slots of it
        WEFT_DEVICE bool more() const { return left != 0 || at < last; }
        WEFT_DEVICE bool next_four(i64& row, i64& first, i64 (&targets)[4]) {
            enter();
            if (left < 4) return false;
            row = present;
            first = slot;
            list.four_from(slot, row, vertex, targets);
            left -= 4;
            slot += 4;
            return true;
        }
        WEFT_DEVICE bool next(i64& row, i64& first) {
            enter();
            if (left == 0 || left >= 4) return false;
            row = present;
            first = slot++;
            --left;
            return true;
        }
        WEFT_DEVICE i64 target(i64 row, i64 first) const {
            return list.target_from(first, row, vertex);
        }

     private:
        // The next row, at the end of one.
        WEFT_DEVICE void enter() {
            if (left != 0 || at >= last) return;
            const u64 entry = list.entry(at++);
            present = list.number(entry);
            slot = list.begin(present);
            left = 1u << static_cast<u32>(entry >> list.number_bits() & 7);
        }
    };
    WEFT_DEVICE Arcs arcs(i64 v) const {
        return {*this, v, static_cast<i64>(load_constant(begins + v)),
                static_cast<i64>(load_constant(begins + v + 1)), 0, 0, 0};
    }

    WEFT_DEVICE i64 row_of(i64 v, i64 k) const {
        const i64 at = static_cast<i64>(load_constant(begins + v)) + k;
        return at < static_cast<i64>(load_constant(begins + v + 1)) ? number(entry(at)) : -1;
    }

    WEFT_DEVICE i64 number(u64 entry) const {
        return static_cast<i64>(entry & ((u64(1) << number_bits()) - 1));
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
constexpr bool lists_arcs<ExpandedRows<Vertex>> = true;
template <class Vertex>
constexpr bool by_fours<BareRows<Vertex>> = true;
template <class Vertex>
constexpr bool by_fours<ExpandedRows<Vertex>> = true;

}  // namespace weft

#endif
