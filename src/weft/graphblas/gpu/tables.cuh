// What kernels of products of sparse matrices share: words that sums are kept in, the factors and
// the mask, hash tables and their order. See sparse.cuh for what is put in front.
#ifndef WEFT_GRAPHBLAS_TABLES_CUH
#define WEFT_GRAPHBLAS_TABLES_CUH

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

}  // namespace weft

#endif
