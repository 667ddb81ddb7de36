// A sparse matrix times one that has all values, which lie row by row (SpMM), over a semiring.
//
// A group of lanes works on some rows, on a part of a long one, or on an equal share of all entries.
// Its lanes take neighbouring columns, `pack` each, so that a row of the right factor is read and one
// of the result is written by whole transactions. Each lane loads one entry of the left; shuffles
// give them to all. Rows of the right are asked for `ahead_rows` at a time, whichever rows of the
// left they belong to: with one row after another, short ones would leave the memory idle.
//
// What is put in front: Left, Right and Sum, the types of values; LeftStored, RightStored and
// SumStored, those of arrays; product_of and sum_of; start(), which sum_of leaves everything as it
// is with; and the constants dense_lanes and dense_pack.
#ifndef WEFT_GRAPHBLAS_DENSE_CUH
#define WEFT_GRAPHBLAS_DENSE_CUH

namespace weft {

// Rows of the right factor that a lane asks for before it uses the first: as many as fit registers.
constexpr u32 ahead_rows = sizeof(RightStored) * dense_pack <= 8 ? 8 : 4;

template <class T>
using Columns = Pack<T, dense_pack>;

// The columns of one row that a lane sums up.
struct Sums {
    Sum item[dense_pack];

    WEFT_DEVICE void clear() {
        WEFT_UNROLL(4)
        for (u32 c = 0; c < dense_pack; ++c) item[c] = start();
    }
    WEFT_DEVICE void take(Left x, const Columns<RightStored>& row) {
        WEFT_UNROLL(4)
        for (u32 c = 0; c < dense_pack; ++c) {
            item[c] = sum_of(item[c], product_of(x, static_cast<Right>(row.items[c])));
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

// An entry of the left factor as a lane holds it: `row` says whose it is, by the kernel's own count.
struct Entry {
    i32 col;
    LeftStored value;
    i32 row;
    bool ends;  // whether it is the last one of its row, or of the share
};

// Which lanes of the group hold an entry that ends a row, as bits.
WEFT_DEVICE u32 ends_of(u32 mask, bool ends) {
    return ballot(mask, ends) >> (lane_id() / dense_lanes * dense_lanes);
}

// Add the first `count` entries that a group holds; `ended(row)` follows the last one of a row.
template <class Ended>
WEFT_DEVICE void add_entries(
    u32 mask, const Entry& held, u32 count, const RightStored* mine, u32 width, Sums& sums,
    const Ended& ended) {
    const u32 ends = ends_of(mask, held.ends);
    const auto row_of_right = [&](u32 lane) {
        const u32 k = static_cast<u32>(shuffle(mask, held.col, lane, dense_lanes));
        return load_pack_constant<dense_pack>(mine + static_cast<u64>(k) * width);
    };
    const auto value_of = [&](u32 lane) {
        return static_cast<Left>(shuffle_any(mask, held.value, lane, dense_lanes));
    };
    const auto end_row = [&](u32 lane) {
        if ((ends >> lane & 1) == 0) return;
        ended(shuffle(mask, held.row, lane, dense_lanes));
        sums.clear();
    };
    u32 t = 0;
    for (; t + ahead_rows <= count; t += ahead_rows) {
        Columns<RightStored> rows[ahead_rows];
        WEFT_UNROLL(8)
        for (u32 i = 0; i < ahead_rows; ++i) rows[i] = row_of_right(t + i);
        if (((ends >> t) & ((1u << ahead_rows) - 1)) == 0) {
            WEFT_UNROLL(8)
            for (u32 i = 0; i < ahead_rows; ++i) sums.take(value_of(t + i), rows[i]);
        } else {
            WEFT_UNROLL(8)
            for (u32 i = 0; i < ahead_rows; ++i) {
                sums.take(value_of(t + i), rows[i]);
                end_row(t + i);
            }
        }
    }
    for (; t < count; t += ahead_rows / 2) {
        Columns<RightStored> rows[ahead_rows / 2];
        WEFT_UNROLL(4)
        for (u32 i = 0; i < ahead_rows / 2; ++i) {
            if (t + i < count) rows[i] = row_of_right(t + i);
        }
        WEFT_UNROLL(4)
        for (u32 i = 0; i < ahead_rows / 2; ++i) {
            if (t + i >= count) break;
            sums.take(value_of(t + i), rows[i]);
            end_row(t + i);
        }
    }
}

// Add so many entries of a group, a batch after another: the next one is loaded before the rows of
// the right that the present one needs. fetch(e) returns entry e.
template <class Fetch, class Ended>
WEFT_DEVICE void add_all(
    u32 mask, u32 total, const RightStored* mine, u32 width, Sums& sums, const Fetch& fetch,
    const Ended& ended) {
    Entry next = fetch(Lanes::lane());
    for (u32 base = 0; base < total; base += dense_lanes) {
        const Entry held = next;
        if (base + dense_lanes < total) next = fetch(base + dense_lanes + Lanes::lane());
        const u32 count = total - base < dense_lanes ? total - base : dense_lanes;
        add_entries(mask, held, count, mine, width, sums, ended);
    }
}

}  // namespace weft

// Row split: a group takes some rows at a time, and lays their entries side by side. Rows without
// entries are not written; those longer than `longest` are left to dense_parts.
extern "C" __global__ void WEFT_BOUNDS(256, 4) dense_rows(
    const weft::i64* offsets, const weft::i32* cols, const weft::LeftStored* values,
    const weft::RightStored* right, weft::SumStored* out, weft::i64 num_rows, weft::i64 width,
    weft::i64 rows_each, weft::i64 longest) {
    using namespace weft;
    const u32 mask = Lanes::mask();
    for (i64 first = first_team() * rows_each; first < num_rows; first += all_teams() * rows_each) {
        const i64 row = first + Lanes::lane();
        const bool mine = Lanes::lane() < rows_each && row < num_rows;
        const i64 begin = mine ? offsets[row] : 0, end = mine ? offsets[row + 1] : 0;
        const u32 length = end - begin > longest ? 0 : static_cast<u32>(end - begin);
        // How many entries the rows up to this one have together.
        u32 upto = length;
        WEFT_UNROLL(5)
        for (u32 step = 1; step < dense_lanes; step *= 2) {
            const u32 before = shuffle_up(mask, upto, step, dense_lanes);
            if (Lanes::lane() >= step) upto += before;
        }
        const u32 total = shuffle(mask, upto, dense_lanes - 1, dense_lanes);
        if (total == 0) continue;
        const i64 shift = begin - (upto - length);
        const auto fetch = [&](u32 e) {
            u32 at = 0;  // the row of entry e
            WEFT_UNROLL(5)
            for (u32 half = dense_lanes / 2; half > 0; half /= 2) {
                if (shuffle(mask, upto, at + half - 1, dense_lanes) <= e) at += half;
            }
            const i64 slot = shuffle_any(mask, shift, at, dense_lanes) + e;
            const bool ends = e + 1 == shuffle(mask, upto, at, dense_lanes);
            if (e >= total) return Entry{0, LeftStored(), 0, false};
            return Entry{load_constant(cols + slot), values[slot], static_cast<i32>(at), ends};
        };
        for (i64 tile = 0; tile < width; tile += tile_columns) {
            const i64 column = tile + lane_column();
            const bool inside = column < width;
            Sums sums;
            sums.clear();
            add_all(mask, total, right + (inside ? column : 0), static_cast<u32>(width), sums,
                    fetch, [&](i32 at) {
                        if (inside) sums.store(out + (first + at) * width + column);
                    });
        }
    }
}

// Parts of long rows: a group for each. The first part of a row goes to the result, others to
// `carry`, which dense_joins adds to it.
extern "C" __global__ void WEFT_BOUNDS(256, 4) dense_parts(
    const weft::i64* offsets, const weft::i32* cols, const weft::LeftStored* values,
    const weft::RightStored* right, weft::SumStored* out, weft::i64 width,
    const weft::i32* part_row, const weft::i64* part_begin, weft::i64 num_parts, weft::i64 share,
    weft::SumStored* carry) {
    using namespace weft;
    const u32 mask = Lanes::mask();
    for (i64 part = first_team(); part < num_parts; part += all_teams()) {
        const i64 row = part_row[part], begin = part_begin[part], stop = offsets[row + 1];
        const i64 end = begin + share < stop ? begin + share : stop;
        SumStored* const to =
            begin == offsets[row] ? out + row * width : carry + part * width;
        const u32 count = static_cast<u32>(end - begin);
        const auto fetch = [&](u32 e) {
            if (e >= count) return Entry{0, LeftStored(), 0, false};
            return Entry{load_constant(cols + begin + e), values[begin + e], 0, false};
        };
        for (i64 tile = 0; tile < width; tile += tile_columns) {
            const i64 column = tile + lane_column();
            const bool inside = column < width;
            Sums sums;
            sums.clear();
            add_all(mask, count, right + (inside ? column : 0), static_cast<u32>(width), sums,
                    fetch, [](i32) {});
            if (inside) sums.store(to + column);
        }
    }
}

// Add the later parts of long rows to the first: a group for each row.
extern "C" __global__ void WEFT_BOUNDS(256, 4) dense_joins(
    const weft::i32* long_rows, const weft::i64* first_part, const weft::SumStored* carry,
    weft::SumStored* out, weft::i64 num_long, weft::i64 width) {
    using namespace weft;
    for (i64 team = first_team(); team < num_long; team += all_teams()) {
        const i64 row = long_rows[team], stop = first_part[team + 1];
        for (i64 column = lane_column(); column < width; column += tile_columns) {
            Sums sums;
            sums.load(out + row * width + column);
            WEFT_UNROLL(8)
            for (i64 part = first_part[team] + 1; part < stop; ++part) {
                sums.join(load_pack<dense_pack>(carry + part * width + column));
            }
            sums.store(out + row * width + column);
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
        const u32 count = static_cast<u32>(end - begin);
        const auto fetch = [&](u32 e) {
            if (e >= count) return Entry{0, LeftStored(), 0, false};
            const i64 slot = begin + e;
            const i32 row = load_constant(row_of + slot);
            const bool ends = e + 1 == count || load_constant(row_of + slot + 1) != row;
            return Entry{load_constant(cols + slot), values[slot], row, ends};
        };
        for (i64 tile = 0; tile < width; tile += tile_columns) {
            const i64 column = tile + lane_column();
            const bool inside = column < width;
            Sums sums;
            sums.clear();
            add_all(mask, count, right + (inside ? column : 0), static_cast<u32>(width), sums,
                    fetch, [&](i32 row) {
                        if (!inside) return;
                        const bool carried = carries && row == first_row;
                        sums.store(carried ? carry + team * width + column
                                           : out + row * width + column);
                    });
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
