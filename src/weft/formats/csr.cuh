// Compressed rows: offsets, of 64 or 32 bits, and the targets of each row one after another.
#ifndef WEFT_FORMAT_CSR_CUH
#define WEFT_FORMAT_CSR_CUH

#include "sweep.cuh"

namespace weft {

template <class Vertex, class Offset>
struct CompressedRows {
    static constexpr bool packed = true;
    static constexpr bool full_rows = true;
    static constexpr bool splits = false;
    static constexpr bool direct_owner = false;

    const Offset* offsets;
    const Vertex* targets;
    i64 rows;
    i64 slots;

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const { return static_cast<i64>(load_constant(offsets + row)); }
    WEFT_DEVICE i64 end(i64 row) const { return static_cast<i64>(load_constant(offsets + row + 1)); }
    WEFT_DEVICE i64 target(i64 slot, i64) const {
        return static_cast<i64>(load_constant(targets + slot));
    }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE i64 vertex(i64 row) const { return row; }
    WEFT_DEVICE i64 place(i64 slot, i64) const { return slot; }
    WEFT_DEVICE void expect(i64 row) const { prefetch(offsets + row); }
    WEFT_DEVICE void expect_slot(i64 slot) const {
        if (slot < slots) prefetch(targets + slot);
    }

    // The last row that begins at or before the slot, by bisection.
    WEFT_DEVICE i64 owner(i64 slot) const {
        i64 low = 0, high = rows;
        while (high - low > 1) {
            const i64 middle = (low + high) / 2;
            if (begin(middle) <= slot) low = middle;
            else high = middle;
        }
        return low;
    }
};

template <class Vertex, class Offset>
constexpr bool foresees<CompressedRows<Vertex, Offset>> = true;

template <class Vertex>
using Csr = CompressedRows<Vertex, i64>;

}  // namespace weft

#endif
