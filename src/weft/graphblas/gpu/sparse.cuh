// Products of two sparse matrices row by row (Gustavson), over a semiring.
//
// Rows with few products are summed up in a hash table in shared memory, by 8 lanes, a warp or a
// block; others in an array of a tile of columns after another, by a block. They are counted first,
// and filled into their places then. A mask lets in what it names, or keeps it out: its columns are
// put into the table, or into a map of the tile, before.
//
// What is put in front: Left, Right and Sum, the types of values; LeftStored, RightStored and
// SumStored, those of arrays; product_of and sum_of; start(), which sum_of leaves everything as it is with;
// and how several warps add to one sum at once: `adds` by an atomic addition, `wins` by a store.
#ifndef WEFT_GRAPHBLAS_SPARSE_CUH
#define WEFT_GRAPHBLAS_SPARSE_CUH

namespace weft {

// Keys of a hash table are columns. `marked`: kept out by the mask, or named by it and not met yet.
constexpr u32 no_key = 0xffffffffu, marked = 0x80000000u;

// What rows are computed for: to count their entries, to fill them in, to fill in the mask's.
enum class Task { count, fill, masked };

// Sums are kept in whole words, which atomics are made for.
template <u32 bytes>
struct WordOfBytes {
    using type = u32;
};
template <>
struct WordOfBytes<8> {
    using type = u64;
};
using Word = typename WordOfBytes<sizeof(Sum)>::type;

WEFT_DEVICE Word to_word(Sum sum) {
    if constexpr (sizeof(Sum) == sizeof(Word)) return same_bits<Word>(sum);
    else return static_cast<Word>(sum);
}
WEFT_DEVICE Sum from_word(Word word) {
    if constexpr (sizeof(Sum) == sizeof(Word)) return same_bits<Sum>(word);
    else return static_cast<Sum>(word);
}

// Add to a sum; `several`: other warps may do so at the same time.
template <bool several>
WEFT_DEVICE void accumulate(Word* word, Sum made) {
    if constexpr (!several) {
        *word = to_word(sum_of(from_word(*word), made));
    } else if constexpr (wins) {
        store_relaxed(word, to_word(made));
    } else if constexpr (adds) {
        atomic_add(reinterpret_cast<Sum*>(word), made);
    } else {
        Word seen = load_relaxed(word);
        while (true) {
            const Word next = to_word(sum_of(from_word(seen), made));
            if (next == seen) return;
            const Word old = atomic_cas(word, seen, next);
            if (old == seen) return;
            seen = old;
        }
    }
}

struct Factors {
    const i64* offsets;
    const i32* cols;
    const LeftStored* values;
    const i64* right_offsets;
    const i32* right_cols;
    const RightStored* right_values;
};

struct MaskRows {
    const i64* offsets;
    const i32* cols;
    i64 outside;  // whether what it names is kept out
};

// Where a result goes: numbers of entries by row, or the entries; for those of a mask, whether
// there is one.
struct Result {
    i64* counts;
    const i64* offsets;
    i32* cols;
    SumStored* values;
    u8* there;
};

template <u32 lanes>
WEFT_DEVICE void sync_team() {
    if constexpr (lanes == 0) sync_block();
    else sync_warp(Group<lanes>::mask());
}
template <u32 lanes>
WEFT_DEVICE u32 team_size() {
    if constexpr (lanes == 0) return block_size();
    else return lanes;
}

// -- hash tables

template <u32 room>
WEFT_DEVICE u32 first_place(u32 key) {
    return static_cast<u32>((static_cast<u64>((key & ~marked) * 0x9e3779b1u) * room) >> 32);
}

// Put a key into a table unless it is there; return its place, and what was there before.
template <u32 room>
WEFT_DEVICE u32 insert(u32* keys, u32 key, u32& before) {
    for (u32 at = first_place<room>(key);; at = (at + 1) % room) {
        before = load_relaxed(keys + at);
        if (before == no_key) {
            before = atomic_cas(keys + at, no_key, key);
            if (before == no_key) return at;
        }
        if (((before ^ key) & ~marked) == 0) return at;
    }
}

// The place of a key; `room` if it is not in the table.
template <u32 room>
WEFT_DEVICE u32 place_of(const u32* keys, u32 key, u32& seen) {
    for (u32 at = first_place<room>(key);; at = (at + 1) % room) {
        seen = load_relaxed(keys + at);
        if (seen == no_key) return room;
        if ((seen & ~marked) == key) return at;
    }
}

// Visit the products of a row: each(column, x, slot of the right factor). Lanes take entries of one
// row of the right, which are of different columns; warps of a block take different rows.
template <u32 lanes, class Each>
WEFT_DEVICE void for_products(const Factors& f, i64 row, const Each& each) {
    constexpr u32 width = lanes == 0 ? warp_size : lanes;
    const i64 begin = f.offsets[row], slots = f.offsets[row + 1] - begin;
    const u32 warps = lanes == 0 ? block_size() / warp_size : 1;
    // Several warps share a row of the right where there are too few.
    const u32 parts = slots < warps ? warps / static_cast<u32>(slots) : 1;
    for (i64 unit = lanes == 0 ? warp_id() : 0; unit < slots * parts; unit += warps) {
        const i64 slot = begin + unit / parts;
        const i64 k = load_constant(f.cols + slot);
        const i64 stop = load_constant(f.right_offsets + k + 1);
        const Left x = static_cast<Left>(f.values[slot]);
        const i64 first = static_cast<i64>(unit % parts) * width + Group<width>::lane();
        for (i64 at = load_constant(f.right_offsets + k) + first; at < stop; at += parts * width) {
            each(static_cast<u32>(load_constant(f.right_cols + at)), x, at);
        }
        sync_warp(Group<width>::mask());
    }
}

// Move the keys that stay, with their sums, to the front of the table; return how many there are.
template <u32 lanes, u32 room>
WEFT_DEVICE u32 compact(u32* keys, Word* words, u32* moved) {
    u32 used = 0;
    for (u32 base = 0; base < room; base += team_size<lanes>()) {
        const u32 key = keys[base + Group<lanes>::lane()];
        const Word word = words[base + Group<lanes>::lane()];
        const bool stays = key < marked;
        sync_team<lanes>();
        u32 to;
        if constexpr (lanes == 0) {
            to = stays ? atomic_add(moved, 1u) : 0;
        } else {
            const u32 mask = Group<lanes>::mask();
            const u32 those = ballot(mask, stays) & mask;
            to = used + popcount(those & lanes_below());
            used += popcount(those);
        }
        if (stays) {
            keys[to] = key;
            words[to] = word;
        }
        sync_team<lanes>();
    }
    if constexpr (lanes == 0) used = *moved;
    return used;
}

// Sort keys with their sums, bitonically; behind them there is room up to a power of two.
template <u32 lanes>
WEFT_DEVICE void sort_table(u32* keys, Word* words, u32 used) {
    u32 size = 2;
    while (size < used) size *= 2;
    for (u32 t = used + Group<lanes>::lane(); t < size; t += team_size<lanes>()) keys[t] = no_key;
    sync_team<lanes>();
    for (u32 run = 2; run <= size; run *= 2) {
        for (u32 gap = run / 2; gap > 0; gap /= 2) {
            for (u32 t = Group<lanes>::lane(); t < size / 2; t += team_size<lanes>()) {
                const u32 low = 2 * t - (t & (gap - 1)), high = low + gap;
                const u32 a = keys[low], b = keys[high];
                if (a != b && (a > b) == ((low & run) == 0)) {
                    const Word word = words[low];
                    keys[low] = b;
                    keys[high] = a;
                    words[low] = words[high];
                    words[high] = word;
                }
            }
            sync_team<lanes>();
        }
    }
}

// The sum of one number of each lane, in lane 0.
template <u32 lanes>
WEFT_DEVICE u32 team_sum(u32 mine, u32* total) {
    if constexpr (lanes == 0) {
        if (mine != 0) atomic_add(total, mine);
        sync_block();
        return *total;
    } else {
        for (u32 bit = lanes / 2; bit > 0; bit /= 2) {
            mine += shuffle_xor(Group<lanes>::mask(), mine, bit, lanes);
        }
        return mine;
    }
}

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
        weft::SumStored *out_values, weft::u8 *there, weft::i64 *ahead
#define WEFT_GIVEN                                                                            \
    {offsets, cols, values, right_offsets, right_cols, right_values}, rows, num_rows,         \
        {mask_offsets, mask_cols, outside}, {counts, out_offsets, out_cols, out_values, there}

#ifdef WEFT_MASKED
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

// How many products each row has: 8 lanes for each.
extern "C" __global__ void WEFT_BOUNDS(256, 4) product_counts(
    const weft::i64* offsets, const weft::i32* cols, const weft::i64* right_offsets,
    weft::i64 num_rows, weft::i64* out) {
    using namespace weft;
    using Team = Group<8>;
    for (i64 row = global_id() / 8; row < num_rows; row += global_size() / 8) {
        const i64 end = offsets[row + 1];
        i64 mine = 0;
        for (i64 slot = offsets[row] + Team::lane(); slot < end; slot += 8) {
            const i64 k = load_constant(cols + slot);
            mine += right_offsets[k + 1] - right_offsets[k];
        }
        for (u32 bit = 4; bit > 0; bit /= 2) mine += shuffle_xor(Team::mask(), mine, bit, 8);
        if (Team::lane() == 0) out[row] = mine;
    }
}

#endif
