// Products of two sparse matrices row by row (Gustavson), over a semiring.
//
// Rows with very few products are summed up by a thread, in a list; others with few in a hash table
// in shared memory, by 8 lanes, a warp or a block; the rest by a block, in an array of one tile of
// columns after another. They are counted first, and filled into their places then. A mask lets in
// what it names, or keeps it out: its columns are put into the table, or a map of the tile, before.
//
// What is put in front: Left, Right and Sum, the types of values; LeftStored, RightStored and
// SumStored, those of arrays; product_of and sum_of; start(), the identity of sum_of;
// and how several warps add to one sum at once: `adds` by an atomic addition, `wins` by a store.
#ifndef WEFT_GRAPHBLAS_SPARSE_CUH
#define WEFT_GRAPHBLAS_SPARSE_CUH

#include "tables.cuh"

namespace weft {

// Rows by hash tables of `room` places; a group of `lanes` for each, or a block where that is 0.
template <u32 lanes, u32 room, Task task>
WEFT_DEVICE void hash_rows(const Factors& f, const i32* rows, i64 num_rows, const MaskRows& mask,
                           const Result& result) {
    WEFT_SHARED(unsigned char, memory);
    WEFT_SHARED(u32, total, 1);
    constexpr bool sums = task != Task::count;
    using Team = Group<lanes>;
    const u32 words_room = sums ? room : 0;
    Word* const words = reinterpret_cast<Word*>(memory) + Team::in_block() * words_room;
    u32* const keys = reinterpret_cast<u32*>(reinterpret_cast<Word*>(memory) +
                                             Team::per_block() * words_room) +
                      Team::in_block() * room;
    const i64 stride = static_cast<i64>(grid_size()) * Team::per_block();
    for (i64 i = static_cast<i64>(block_id()) * Team::per_block() + Team::in_block(); i < num_rows;
         i += stride) {
        const i64 row = rows[i];
        const i64 mask_begin = mask.offsets[row], mask_end = mask.offsets[row + 1];
        for (u32 t = Team::lane(); t < room; t += team_size<lanes>()) {
            keys[t] = no_key;
            if (sums) words[t] = to_word(start());
        }
        if (lanes == 0 && Team::lane() == 0) *total = 0;
        sync_team<lanes>();
        if (task == Task::masked || mask.outside != 0) {
            u32 before;
            for (i64 m = mask_begin + Team::lane(); m < mask_end; m += team_size<lanes>()) {
                insert<room>(keys, static_cast<u32>(mask.cols[m]) | marked, before);
            }
            sync_team<lanes>();
        }
        u32 found = 0;
        for_products<lanes>(f, row, [&](u32 column, Left x, i64 at) {
            u32 seen;
            if constexpr (task == Task::masked) {
                const u32 place = place_of<room>(keys, column, seen);
                if (place == room) return;
                if (seen != column) store_relaxed(keys + place, column);
                const Right y = static_cast<Right>(f.right_values[at]);
                accumulate<lanes == 0>(words + place, product_of(x, y));
            } else {
                const u32 place = insert<room>(keys, column, seen);
                if (seen == no_key) ++found;
                if constexpr (task == Task::fill) {
                    if (seen != no_key && (seen & marked) != 0) return;
                    const Right y = static_cast<Right>(f.right_values[at]);
                    accumulate<lanes == 0>(words + place, product_of(x, y));
                }
            }
        });
        sync_team<lanes>();
        if constexpr (task == Task::count) {
            const u32 all = team_sum<lanes>(found, total);
            if (Team::lane() == 0) result.counts[row] = all;
        } else if constexpr (task == Task::fill) {
            const u32 used = compact<lanes, room>(keys, words, total);
            sort_table<lanes>(keys, words, used);
            const i64 first = result.offsets[row];
            for (u32 t = Team::lane(); t < used; t += team_size<lanes>()) {
                result.cols[first + t] = static_cast<i32>(keys[t]);
                result.values[first + t] = static_cast<SumStored>(from_word(words[t]));
            }
        } else {
            for (i64 m = mask_begin + Team::lane(); m < mask_end; m += team_size<lanes>()) {
                u32 seen;
                const u32 place = place_of<room>(keys, static_cast<u32>(mask.cols[m]), seen);
                result.there[m] = (seen & marked) == 0;
                result.values[m] = static_cast<SumStored>(from_word(words[place]));
            }
        }
        sync_team<lanes>();
    }
}

// -- short lists

// Rows with few entries: a thread for each. Its columns, ascending, and their sums lie in shared
// memory, those of neighbouring threads side by side. With `all_rows` none is left to other kernels.
constexpr u32 few = 16;

// The place of a column among a row's in the mask; as many as there are if it is not one of them.
WEFT_DEVICE u32 place_in(const i32* cols, u32 count, u32 column) {
    u32 at = 0;
    while (at < count && static_cast<u32>(load_constant(cols + at)) < column) ++at;
    return at < count && static_cast<u32>(load_constant(cols + at)) == column ? at : count;
}

template <Task task>
WEFT_DEVICE void listed_rows(const Factors& f, const i32* rows, i64 num_rows, const MaskRows& mask,
                             const Result& result, i64 all_rows) {
    WEFT_SHARED(unsigned char, memory);
    constexpr bool sums = task != Task::count;
    const u32 step = block_size();
    Word* const words = reinterpret_cast<Word*>(memory) + thread_id();
    u32* const keys =
        reinterpret_cast<u32*>(reinterpret_cast<Word*>(memory) + (sums ? few * step : 0)) +
        thread_id();
    for (i64 i = global_id(); i < num_rows; i += global_size()) {
        const i64 row = all_rows ? i : rows[i];
        const i64 mask_begin = mask.offsets[row], end = f.offsets[row + 1];
        const bool looks = task == Task::masked || mask.outside != 0;
        const u32 named = looks ? static_cast<u32>(mask.offsets[row + 1] - mask_begin) : 0;
        u32 used = 0, met = 0;
        const auto take = [&](u32 column, Left x, i64 at) {
            u32 place = looks ? place_in(mask.cols + mask_begin, named, column) : 0;
            if constexpr (task == Task::masked) {
                if (place == named) return;
                const Sum made = product_of(x, static_cast<Right>(f.right_values[at]));
                Word* const word = words + place * step;
                *word = to_word((met >> place & 1) != 0 ? sum_of(from_word(*word), made) : made);
                met |= 1u << place;
            } else {
                if (place < named) return;
                for (place = used; place > 0 && keys[(place - 1) * step] > column;) --place;
                const bool known = place > 0 && keys[(place - 1) * step] == column;
                if (!known) {
                    for (u32 p = used; p > place; --p) {
                        keys[p * step] = keys[(p - 1) * step];
                        if constexpr (sums) words[p * step] = words[(p - 1) * step];
                    }
                    keys[place * step] = column;
                    ++used;
                }
                if constexpr (sums) {
                    const Sum made = product_of(x, static_cast<Right>(f.right_values[at]));
                    Word* const word = words + (place - known) * step;
                    *word = to_word(known ? sum_of(from_word(*word), made) : made);
                }
            }
        };
        for (i64 slot = f.offsets[row]; slot < end; ++slot) {
            const i64 k = load_constant(f.cols + slot);
            const i64 stop = load_constant(f.right_offsets + k + 1);
            const Left x = static_cast<Left>(f.values[slot]);
            for (i64 at = load_constant(f.right_offsets + k); at < stop; ++at) {
                take(static_cast<u32>(load_constant(f.right_cols + at)), x, at);
            }
        }
        if constexpr (task == Task::count) {
            result.counts[row] = used;
        } else if constexpr (task == Task::fill) {
            const i64 first = result.offsets[row];
            for (u32 p = 0; p < used; ++p) {
                result.cols[first + p] = static_cast<i32>(keys[p * step]);
                result.values[first + p] = static_cast<SumStored>(from_word(words[p * step]));
            }
        } else {
            for (u32 p = 0; p < named; ++p) {
                const bool there = (met >> p & 1) != 0;
                result.there[mask_begin + p] = there;
                if (there) {
                    result.values[mask_begin + p] =
                        static_cast<SumStored>(from_word(words[p * step]));
                }
            }
        }
    }
}

// -- tiles

// The place of the first of ascending columns that is not below one.
WEFT_DEVICE i64 lower_bound(const i32* cols, i64 begin, i64 end, i64 column) {
    while (begin < end) {
        const i64 middle = (begin + end) / 2;
        if (cols[middle] < column) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// How many bits are set in the words of threads with a lower number, and in all of them. `sums` has
// room for a number of each warp and their total.
WEFT_DEVICE u32 bits_below(u32 mine, u32* sums, u32& all) {
    u32 upto = mine;
    for (u32 delta = 1; delta < warp_size; delta *= 2) {
        const u32 other = shuffle_up(full_mask, upto, delta);
        if (lane_id() >= delta) upto += other;
    }
    if (lane_id() == warp_size - 1) sums[warp_id()] = upto;
    sync_block();
    u32 below = 0;
    all = 0;
    for (u32 w = 0; w < block_size() / warp_size; ++w) {
        if (w < warp_id()) below += sums[w];
        all += sums[w];
    }
    sync_block();
    return below + upto - mine;
}

// Rows by tiles of `columns` columns, a block for each row: an array of sums, a map of which are
// there and one of the mask. `ahead` has for every entry of the left how far its row of the right
// was read. A tile begins at the least column that is left. Warps take rows of the right; those with
// many entries in the tile wait until the whole block takes them.
constexpr u32 long_row = 256, most_long = 64;

template <u32 columns, Task task>
WEFT_DEVICE void tile_rows(const Factors& f, const i32* rows, i64 num_rows, const MaskRows& mask,
                           const Result& result, i64* ahead) {
    WEFT_SHARED(unsigned char, memory);
    WEFT_SHARED(u32, least, 1);
    WEFT_SHARED(u32, warp_sums, 32);
    WEFT_SHARED(u32, num_long, 1);
    WEFT_SHARED(u32, long_slots, most_long);
    WEFT_SHARED(u32, long_taken, most_long);
    constexpr bool sums = task != Task::count;
    constexpr u32 map_words = columns / 32;
    Word* const words = reinterpret_cast<Word*>(memory);
    u32* const there = reinterpret_cast<u32*>(words + (sums ? columns : 0));
    u32* const named = there + map_words;
    const bool looks = task == Task::masked || mask.outside != 0;
    for (i64 i = block_id(); i < num_rows; i += grid_size()) {
        const i64 row = rows[i];
        const i64 begin = f.offsets[row], end = f.offsets[row + 1];
        for (i64 slot = begin + thread_id(); slot < end; slot += block_size()) {
            ahead[slot] = f.right_offsets[f.cols[slot]];
        }
        i64 used = 0, mask_at = mask.offsets[row];
        const i64 mask_end = mask.offsets[row + 1];
        while (true) {
            if (thread_id() == 0) *least = no_key, *num_long = 0;
            if (thread_id() < most_long) long_taken[thread_id()] = 0;
            sync_block();
            u32 low = no_key;
            for (i64 slot = begin + thread_id(); slot < end; slot += block_size()) {
                const i64 at = ahead[slot];
                if (at < f.right_offsets[f.cols[slot] + 1]) {
                    const u32 column = static_cast<u32>(f.right_cols[at]);
                    low = column < low ? column : low;
                }
            }
            low = reduce_min(full_mask, low);
            if (lane_id() == 0) atomic_min(least, low);
            for (u32 t = thread_id(); t < map_words; t += block_size()) there[t] = named[t] = 0;
            if (sums) {
                for (u32 t = thread_id(); t < columns; t += block_size()) {
                    words[t] = to_word(start());
                }
            }
            sync_block();
            low = *least;
            if (low == no_key) break;
            i64 mask_stop = mask_at;
            if (looks) {
                mask_at = lower_bound(mask.cols, mask_at, mask_end, low);
                mask_stop = lower_bound(mask.cols, mask_at, mask_end, i64(low) + columns);
                for (i64 m = mask_at + thread_id(); m < mask_stop; m += block_size()) {
                    const u32 place = static_cast<u32>(mask.cols[m]) - low;
                    atomic_or(named + place / 32, 1u << place % 32);
                }
                sync_block();
            }
            const auto take = [&](Left x, i64 at, i64 stop) {
                const u32 place = at < stop ? static_cast<u32>(f.right_cols[at]) - low : no_key;
                if (place < columns) {
                    const u32 bit = 1u << place % 32;
                    const bool is_named = looks && (named[place / 32] & bit) != 0;
                    if (!looks || is_named == (task == Task::masked)) {
                        if ((load_relaxed(there + place / 32) & bit) == 0) {
                            atomic_or(there + place / 32, bit);
                        }
                        if constexpr (sums) {
                            const Right y = static_cast<Right>(f.right_values[at]);
                            accumulate<true>(words + place, product_of(x, y));
                        }
                    }
                }
                return popcount(ballot(full_mask, place < columns));
            };
            for (i64 slot = begin + warp_id(); slot < end; slot += block_size() / warp_size) {
                const i64 stop = f.right_offsets[f.cols[slot] + 1];
                const Left x = static_cast<Left>(f.values[slot]);
                i64 at = ahead[slot];
                const i64 probe = at + long_row;
                if (probe < stop && static_cast<u32>(f.right_cols[probe]) - low < columns) {
                    u32 place = 0;
                    if (lane_id() == 0) place = atomic_add(num_long, 1u);
                    place = shuffle(full_mask, place, 0);
                    if (place < most_long) {
                        if (lane_id() == 0) long_slots[place] = static_cast<u32>(slot - begin);
                        continue;
                    }
                }
                for (u32 taken = warp_size; taken == warp_size; at += taken) {
                    taken = take(x, at + lane_id(), stop);
                }
                sync_warp(full_mask);
                if (lane_id() == 0) ahead[slot] = at;
            }
            sync_block();
            const u32 those = *num_long < most_long ? *num_long : most_long;
            for (u32 q = 0; q < those; ++q) {
                const i64 slot = begin + long_slots[q];
                const i64 stop = f.right_offsets[f.cols[slot] + 1];
                const Left x = static_cast<Left>(f.values[slot]);
                i64 at = ahead[slot] + thread_id();
                u32 all = 0;
                for (u32 taken = warp_size; taken == warp_size; at += block_size()) {
                    taken = take(x, at, stop);
                    all += taken;
                }
                if (lane_id() == 0) atomic_add(long_taken + q, all);
            }
            sync_block();
            if (thread_id() < those) {
                ahead[begin + long_slots[thread_id()]] += long_taken[thread_id()];
            }
            if constexpr (task == Task::masked) {
                for (i64 m = mask_at + thread_id(); m < mask_stop; m += block_size()) {
                    const u32 place = static_cast<u32>(mask.cols[m]) - low;
                    result.there[m] = (there[place / 32] >> place % 32) & 1;
                    result.values[m] = static_cast<SumStored>(from_word(words[place]));
                }
            } else {
                for (u32 base = 0; base < map_words; base += block_size()) {
                    const u32 at = base + thread_id();
                    u32 bits = at < map_words ? there[at] : 0;
                    u32 all;
                    i64 to = used + bits_below(popcount(bits), warp_sums, all);
                    used += all;
                    if constexpr (task == Task::fill) {
                        to += result.offsets[row];
                        for (; bits != 0; bits &= bits - 1, ++to) {
                            const u32 place = 32 * at + ffs(bits) - 1;
                            result.cols[to] = static_cast<i32>(low + place);
                            result.values[to] = static_cast<SumStored>(from_word(words[place]));
                        }
                    }
                }
            }
            mask_at = mask_stop;
            sync_block();
        }
        if (task == Task::count && thread_id() == 0) result.counts[row] = used;
        sync_block();
    }
}

// The places of tiles; `sparse.py` has the same.
constexpr u32 tile_room = 65536 / sizeof(Word), count_room = 262144;

}  // namespace weft

#define WEFT_ROWS                                                                             \
    const weft::i64 *offsets, const weft::i32 *cols, const weft::LeftStored *values,          \
        const weft::i64 *right_offsets, const weft::i32 *right_cols,                          \
        const weft::RightStored *right_values, const weft::i32 *rows, weft::i64 num_rows,     \
        const weft::i64 *mask_offsets, const weft::i32 *mask_cols, weft::i64 outside,         \
        weft::i64 *counts, const weft::i64 *out_offsets, weft::i32 *out_cols,                 \
        weft::SumStored *out_values, weft::u8 *there, weft::i64 *ahead, weft::i64 all_rows
#define WEFT_GIVEN                                                                            \
    {offsets, cols, values, right_offsets, right_cols, right_values}, rows, num_rows,         \
        {mask_offsets, mask_cols, outside}, {counts, out_offsets, out_cols, out_values, there}

#ifdef WEFT_MASKED
extern "C" __global__ void WEFT_BOUNDS(128, 1) masked_list(WEFT_ROWS) {
    weft::listed_rows<weft::Task::masked>(WEFT_GIVEN, all_rows);
}
extern "C" __global__ void WEFT_BOUNDS(256, 1) masked_small(WEFT_ROWS) {
    weft::hash_rows<8, 64, weft::Task::masked>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(256, 1) masked_warp(WEFT_ROWS) {
    weft::hash_rows<32, 256, weft::Task::masked>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(128, 1) masked_wide(WEFT_ROWS) {
    weft::hash_rows<32, 1024, weft::Task::masked>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(512, 1) masked_block(WEFT_ROWS) {
    weft::hash_rows<0, 8192, weft::Task::masked>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(512, 1) masked_tile(WEFT_ROWS) {
    weft::tile_rows<weft::tile_room, weft::Task::masked>(WEFT_GIVEN, ahead);
}
#else
extern "C" __global__ void WEFT_BOUNDS(128, 1) count_list(WEFT_ROWS) {
    weft::listed_rows<weft::Task::count>(WEFT_GIVEN, all_rows);
}
extern "C" __global__ void WEFT_BOUNDS(128, 1) fill_list(WEFT_ROWS) {
    weft::listed_rows<weft::Task::fill>(WEFT_GIVEN, all_rows);
}
extern "C" __global__ void WEFT_BOUNDS(256, 1) count_small(WEFT_ROWS) {
    weft::hash_rows<8, 64, weft::Task::count>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(256, 1) count_warp(WEFT_ROWS) {
    weft::hash_rows<32, 256, weft::Task::count>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(128, 1) count_wide(WEFT_ROWS) {
    weft::hash_rows<32, 1024, weft::Task::count>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(512, 1) count_block(WEFT_ROWS) {
    weft::hash_rows<0, 8192, weft::Task::count>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(512, 1) count_tile(WEFT_ROWS) {
    weft::tile_rows<weft::count_room, weft::Task::count>(WEFT_GIVEN, ahead);
}
extern "C" __global__ void WEFT_BOUNDS(256, 1) fill_small(WEFT_ROWS) {
    weft::hash_rows<8, 64, weft::Task::fill>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(256, 1) fill_warp(WEFT_ROWS) {
    weft::hash_rows<32, 256, weft::Task::fill>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(128, 1) fill_wide(WEFT_ROWS) {
    weft::hash_rows<32, 1024, weft::Task::fill>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(512, 1) fill_block(WEFT_ROWS) {
    weft::hash_rows<0, 8192, weft::Task::fill>(WEFT_GIVEN);
}
extern "C" __global__ void WEFT_BOUNDS(512, 1) fill_tile(WEFT_ROWS) {
    weft::tile_rows<weft::tile_room, weft::Task::fill>(WEFT_GIVEN, ahead);
}
#endif

namespace weft {

template <u32 lanes>
WEFT_DEVICE void count_products(
    const i64* offsets, const i32* cols, const i64* right_offsets, i64 num_rows, i64* out) {
    using Team = Group<lanes>;
    for (i64 row = global_id() / lanes; row < num_rows; row += global_size() / lanes) {
        const i64 end = offsets[row + 1];
        i64 mine = 0;
        for (i64 slot = offsets[row] + Team::lane(); slot < end; slot += lanes) {
            const i64 k = load_constant(cols + slot);
            mine += right_offsets[k + 1] - right_offsets[k];
        }
        for (u32 bit = lanes / 2; bit > 0; bit /= 2) {
            mine += shuffle_xor(Team::mask(), mine, bit, lanes);
        }
        if (Team::lane() == 0) out[row] = mine;
    }
}

}  // namespace weft

// How many products each row has: 8 lanes for each, or one where rows are short.
extern "C" __global__ void WEFT_BOUNDS(256, 4) product_counts(
    const weft::i64* offsets, const weft::i32* cols, const weft::i64* right_offsets,
    weft::i64 num_rows, weft::i64* out) {
    weft::count_products<8>(offsets, cols, right_offsets, num_rows, out);
}
extern "C" __global__ void WEFT_BOUNDS(256, 4) few_product_counts(
    const weft::i64* offsets, const weft::i32* cols, const weft::i64* right_offsets,
    weft::i64 num_rows, weft::i64* out) {
    weft::count_products<1>(offsets, cols, right_offsets, num_rows, out);
}

#endif
