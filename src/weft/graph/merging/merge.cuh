// Unions and intersections of two lists of sorted rows, cut into shares of the merge path.
//
// The entries of a row of both sides follow each other on the path, then those of the next row. A
// thread takes `items` places of it, whatever the rows: it finds its row by a search among their
// ends, and by another one where in both sides its part begins. Of two equal columns the left one
// comes first; both belong to the share of the first. Shares are counted, then written; rows begin
// where their first place on the path does.
//
// What is put in front: Left, Right and Out, the types of values, with LeftStored, ... those of
// arrays; Col, that of columns; and both(x, y), one(x), other(y).
#ifndef WEFT_GRAPH_MERGE_CUH
#define WEFT_GRAPH_MERGE_CUH

namespace weft {

constexpr i64 items = 8;

struct Rows {
    const i64* left;
    const Col* left_cols;
    const i64* right;
    const Col* right_cols;
    i64 count;

    WEFT_DEVICE i64 end_of(i64 row) const { return left[row + 1] + right[row + 1]; }

    // The first row that ends behind a place.
    WEFT_DEVICE i64 row_at(i64 place) const {
        i64 low = 0, high = count;
        while (low < high) {
            const i64 middle = (low + high) >> 1;
            if (end_of(middle) <= place) low = middle + 1;
            else high = middle;
        }
        return low;
    }
};

// Go along the path from a place to another, and call `took(a, b, has_left, has_right)` for every
// entry that comes out; return how many.
template <typename Take>
WEFT_DEVICE i64 walk(const Rows& rows, i64 begin, i64 end, bool unites, Take took) {
    i64 row = rows.row_at(begin), used = 0;
    if (begin >= end || row == rows.count) return 0;
    const i64 a0 = rows.left[row], b0 = rows.right[row];
    i64 a_end = rows.left[row + 1], b_end = rows.right[row + 1];
    const i64 steps = begin - a0 - b0, most = a_end - a0;
    i64 low = steps > b_end - b0 ? steps - (b_end - b0) : 0, high = steps < most ? steps : most;
    while (low < high) {
        const i64 middle = (low + high) >> 1;
        if (rows.left_cols[a0 + middle] <= rows.right_cols[b0 + steps - middle - 1]) low = middle + 1;
        else high = middle;
    }
    i64 a = a0 + low, b = b0 + steps - low;
    if (low > 0 && b < b_end && rows.left_cols[a - 1] == rows.right_cols[b]) ++b;
    while (a + b < end) {
        if (a == a_end && b == b_end) {  // the next row that has entries
            row = rows.row_at(a + b);
            if (row == rows.count) break;
            a_end = rows.left[row + 1];
            b_end = rows.right[row + 1];
        }
        const bool left = a < a_end && (b == b_end || rows.left_cols[a] <= rows.right_cols[b]);
        const bool right = b < b_end && (a == a_end || rows.right_cols[b] <= rows.left_cols[a]);
        if (unites || (left && right)) {
            took(a, b, left, right, used);
            ++used;
        }
        a += left;
        b += right;
    }
    return used;
}

}  // namespace weft

// How many entries each share gives.
extern "C" __global__ void WEFT_BOUNDS(256, 4) count_shares(
    const weft::i64* left, const weft::Col* left_cols, const weft::i64* right,
    const weft::Col* right_cols, weft::i64 rows, weft::i64 total, weft::i64 unites,
    weft::i64* counts) {
    using namespace weft;
    const Rows both_rows{left, left_cols, right, right_cols, rows};
    for (i64 share = global_id(); share * items < total; share += global_size()) {
        const i64 begin = share * items, end = begin + items < total ? begin + items : total;
        counts[share] = walk(both_rows, begin, end, unites != 0, [](i64, i64, bool, bool, i64) {});
    }
}

// Write the entries of each share to its places.
extern "C" __global__ void WEFT_BOUNDS(256, 4) write_shares(
    const weft::i64* left, const weft::Col* left_cols, const weft::i64* right,
    const weft::Col* right_cols, weft::i64 rows, weft::i64 total, weft::i64 unites,
    const weft::i64* places, const weft::LeftStored* x, const weft::RightStored* y,
    weft::Col* cols, weft::OutStored* values) {
    using namespace weft;
    const Rows both_rows{left, left_cols, right, right_cols, rows};
    for (i64 share = global_id(); share * items < total; share += global_size()) {
        const i64 begin = share * items, end = begin + items < total ? begin + items : total;
        const i64 first = places[share];
        walk(both_rows, begin, end, unites != 0,
             [&](i64 a, i64 b, bool mine, bool theirs, i64 nth) {
                 cols[first + nth] = mine ? left_cols[a] : right_cols[b];
                 const Out made = mine && theirs ? both(static_cast<Left>(x[a]), static_cast<Right>(y[b]))
                                  : mine         ? one(static_cast<Left>(x[a]))
                                                 : other(static_cast<Right>(y[b]));
                 values[first + nth] = static_cast<OutStored>(made);
             });
    }
}

// Where each row begins among the entries that came out: those of earlier shares, and of its own
// share those before it.
extern "C" __global__ void WEFT_BOUNDS(256, 4) begin_rows(
    const weft::i64* left, const weft::Col* left_cols, const weft::i64* right,
    const weft::Col* right_cols, weft::i64 rows, weft::i64 total, weft::i64 unites,
    const weft::i64* places, weft::i64* begins) {
    using namespace weft;
    const Rows both_rows{left, left_cols, right, right_cols, rows};
    for (i64 row = global_id(); row <= rows; row += global_size()) {
        const i64 place = left[row] + right[row], share = place / items;
        i64 before = places[share];
        if (place > share * items) {
            before += walk(both_rows, share * items, place, unites != 0,
                           [](i64, i64, bool, bool, i64) {});
        }
        begins[row] = before;
    }
}

#endif
