// A sparse matrix times one that has all values, which lie row by row (SpMM), over a semiring.
//
// A group of lanes works on a row, or on an equal share of all entries. Its lanes take neighbouring
// columns, `pack` each, so that a row of the right factor is read and one of the result is written
// by whole transactions. Each lane loads one entry of the left; shuffles give them to all.
//
// What is put in front: Left, Right and Sum, the types of values; LeftStored, RightStored and
// SumStored, those of arrays; product_of and sum_of; and the constants dense_lanes and dense_pack.
#ifndef WEFT_GRAPHBLAS_DENSE_CUH
#define WEFT_GRAPHBLAS_DENSE_CUH

namespace weft {

// Rows of the right factor that a lane asks for before it uses the first.
constexpr u32 ahead_rows = 4;

template <class T>
using Columns = Pack<T, dense_pack>;

// The columns of one row that a lane sums up.
struct Sums {
    Sum item[dense_pack];

    WEFT_DEVICE void take(Left x, const Columns<RightStored>& row, bool first) {
        WEFT_UNROLL(4)
        for (u32 c = 0; c < dense_pack; ++c) {
            const Sum made = product_of(x, static_cast<Right>(row.items[c]));
            item[c] = first ? made : sum_of(item[c], made);
        }
    }
    WEFT_DEVICE void join(const Columns<SumStored>& later) {
        WEFT_UNROLL(4)
        for (u32 c = 0; c < dense_pack; ++c) {
            item[c] = sum_of(item[c], static_cast<Sum>(later.items[c]));
        }
    }
    WEFT_DEVICE void store(SumStored* to) const {
        Columns<SumStored> row;
        WEFT_UNROLL(4)
        for (u32 c = 0; c < dense_pack; ++c) row.items[c] = static_cast<SumStored>(item[c]);
        store_pack<dense_pack>(to, row);
    }
    WEFT_DEVICE void load(const SumStored* from) {
        const Columns<SumStored> row = load_pack<dense_pack>(from);
        WEFT_UNROLL(4)
        for (u32 c = 0; c < dense_pack; ++c) item[c] = static_cast<Sum>(row.items[c]);
    }
};

using Lanes = Group<dense_lanes>;

WEFT_DEVICE i64 first_team() { return global_id() / dense_lanes; }
WEFT_DEVICE i64 all_teams() { return global_size() / dense_lanes; }
// The columns that a group takes at a time, and the first of a lane.
constexpr i64 tile_columns = dense_lanes * dense_pack;
WEFT_DEVICE i64 lane_column() { return static_cast<i64>(Lanes::lane()) * dense_pack; }

}  // namespace weft

// Row split: a group for each row. Rows without entries are not written.
extern "C" __global__ void WEFT_BOUNDS(256, 4) dense_rows(
    const weft::i64* offsets, const weft::i32* cols, const weft::LeftStored* values,
    const weft::RightStored* right, weft::SumStored* out, weft::i64 num_rows, weft::i64 width) {
    using namespace weft;
    const u32 mask = Lanes::mask();
    for (i64 row = first_team(); row < num_rows; row += all_teams()) {
        const i64 begin = offsets[row], end = offsets[row + 1];
        if (begin == end) continue;
        for (i64 tile = 0; tile < width; tile += tile_columns) {
            const i64 column = tile + lane_column();
            const bool inside = column < width;
            const RightStored* const mine = right + (inside ? column : 0);
            Sums sums = {};
            for (i64 base = begin; base < end; base += dense_lanes) {
                const i64 slot = base + Lanes::lane();
                const i32 own = slot < end ? load_constant(cols + slot) : 0;
                const LeftStored held = slot < end ? values[slot] : LeftStored();
                const u32 count = end - base < dense_lanes ? u32(end - base) : dense_lanes;
                for (u32 t = 0; t < count; t += ahead_rows) {
                    Columns<RightStored> rows[ahead_rows];
                    Left x[ahead_rows];
                    WEFT_UNROLL(4)
                    for (u32 i = 0; i < ahead_rows; ++i) {
                        const u32 lane = t + i < count ? t + i : count - 1;
                        const i64 k = shuffle(mask, own, lane, dense_lanes);
                        x[i] = static_cast<Left>(shuffle_any(mask, held, lane, dense_lanes));
                        rows[i] = load_pack_constant<dense_pack>(mine + k * width);
                    }
                    WEFT_UNROLL(4)
                    for (u32 i = 0; i < ahead_rows; ++i) {
                        if (t + i < count) sums.take(x[i], rows[i], base + t + i == begin);
                    }
                }
            }
            if (inside) sums.store(out + row * width + column);
        }
    }
}

// Merge: a group for each share of the entries. A row that began in an earlier share goes to
// `carry`, which is joined to what the earlier ones have stored afterwards.
extern "C" __global__ void WEFT_BOUNDS(256, 4) dense_shares(
    const weft::i64* offsets, const weft::i32* row_of, const weft::i32* cols,
    const weft::LeftStored* values, const weft::RightStored* right, weft::SumStored* out,
    weft::i64 num_entries, weft::i64 width, weft::i64 share, weft::SumStored* carry,
    weft::i32* carry_row) {
    using namespace weft;
    const u32 mask = Lanes::mask();
    const i64 num_shares = (num_entries + share - 1) / share;
    for (i64 team = first_team(); team < num_shares; team += all_teams()) {
        const i64 begin = team * share;
        const i64 end = begin + share < num_entries ? begin + share : num_entries;
        const i32 first_row = row_of[begin];
        const bool carries = offsets[first_row] < begin;
        if (Lanes::lane() == 0) carry_row[team] = carries ? first_row : -1;
        for (i64 tile = 0; tile < width; tile += tile_columns) {
            const i64 column = tile + lane_column();
            const bool inside = column < width;
            const RightStored* const mine = right + (inside ? column : 0);
            Sums sums = {};
            i32 row = first_row;
            bool first = true;
            const auto flush = [&] {
                if (!inside) return;
                const bool carried = carries && row == first_row;
                sums.store(carried ? carry + team * width + column : out + row * width + column);
            };
            for (i64 base = begin; base < end; base += dense_lanes) {
                const i64 slot = base + Lanes::lane();
                const i32 own = slot < end ? load_constant(cols + slot) : 0;
                const i32 own_row = slot < end ? load_constant(row_of + slot) : 0;
                const LeftStored held = slot < end ? values[slot] : LeftStored();
                const u32 count = end - base < dense_lanes ? u32(end - base) : dense_lanes;
                for (u32 t = 0; t < count; t += ahead_rows) {
                    Columns<RightStored> rows[ahead_rows];
                    Left x[ahead_rows];
                    i32 of[ahead_rows];
                    WEFT_UNROLL(4)
                    for (u32 i = 0; i < ahead_rows; ++i) {
                        const u32 lane = t + i < count ? t + i : count - 1;
                        const i64 k = shuffle(mask, own, lane, dense_lanes);
                        of[i] = shuffle(mask, own_row, lane, dense_lanes);
                        x[i] = static_cast<Left>(shuffle_any(mask, held, lane, dense_lanes));
                        rows[i] = load_pack_constant<dense_pack>(mine + k * width);
                    }
                    WEFT_UNROLL(4)
                    for (u32 i = 0; i < ahead_rows; ++i) {
                        if (t + i >= count) break;
                        if (of[i] != row) {
                            flush();
                            row = of[i];
                            first = true;
                        }
                        sums.take(x[i], rows[i], first);
                        first = false;
                    }
                }
            }
            flush();
        }
    }
}

// Join what was carried out of shares to the rows they belong to: the first carry of a row does it
// for all of them.
extern "C" __global__ void WEFT_BOUNDS(256, 4) dense_carries(
    const weft::i64* offsets, const weft::SumStored* carry, const weft::i32* carry_row,
    weft::SumStored* out, weft::i64 num_shares, weft::i64 share, weft::i64 width) {
    using namespace weft;
    for (i64 team = first_team(); team < num_shares; team += all_teams()) {
        const i32 row = carry_row[team];
        if (row < 0 || (team > 0 && carry_row[team - 1] == row)) continue;
        const i64 last = (offsets[row + 1] - 1) / share;
        for (i64 column = lane_column(); column < width; column += tile_columns) {
            Sums sums;
            sums.load(out + row * width + column);
            for (i64 t = team; t <= last; ++t) sums.join(load_pack<dense_pack>(carry + t * width + column));
            sums.store(out + row * width + column);
        }
    }
}

// The places of a mask alone: lanes take the columns that the mask names in a row.
extern "C" __global__ void WEFT_BOUNDS(256, 4) dense_masked(
    const weft::i64* offsets, const weft::i32* cols, const weft::LeftStored* values,
    const weft::RightStored* right, const weft::i64* mask_offsets, const weft::i32* mask_cols,
    weft::SumStored* out, weft::i64 num_rows, weft::i64 width) {
    using namespace weft;
    for (i64 row = first_team(); row < num_rows; row += all_teams()) {
        const i64 begin = offsets[row], end = offsets[row + 1];
        if (begin == end) continue;
        const i64 stop = mask_offsets[row + 1];
        for (i64 at = mask_offsets[row] + Lanes::lane(); at < stop; at += dense_lanes) {
            const RightStored* const column = right + load_constant(mask_cols + at);
            Sum sum = {};
            for (i64 slot = begin; slot < end; ++slot) {
                const Left x = static_cast<Left>(values[slot]);
                const i64 k = load_constant(cols + slot);
                const Sum made = product_of(x, static_cast<Right>(column[k * width]));
                sum = slot == begin ? made : sum_of(sum, made);
            }
            out[at] = static_cast<SumStored>(sum);
        }
    }
}

#endif
