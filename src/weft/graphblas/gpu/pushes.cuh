// Pushes: a matrix times a vector, whose values are spread along columns.
//
// push_start clears the result and lists the rows that have a value, push_spread adds their products
// to the places of the result: short rows side by side, 32 to a warp, and parts of long ones.
//
// What is put in front beside what vectors.cuh needs: start(), which sum_of leaves everything as it
// is with; `adds` and `wins`, for sums that atomics make or that any product will do for.
#ifndef WEFT_GRAPHBLAS_PUSHES_CUH
#define WEFT_GRAPHBLAS_PUSHES_CUH

#include "vectors.cuh"

namespace weft {

// Rows up to that length lie side by side; parts of longer ones have so many entries.
constexpr i64 short_row = 64, part_of_push = 256;

// Words that hold sums, as atomics take them.
template <u32 bytes>
struct WordOfBytes {
    using type = u32;
};
template <>
struct WordOfBytes<8> {
    using type = u64;
};
using Word = typename WordOfBytes<sizeof(SumStored)>::type;

// Sum and word in one place: the bytes of a word from `shift` on are the sum.
WEFT_DEVICE Word with_sum(Word word, u32 shift, SumStored sum) {
    if constexpr (sizeof(SumStored) == sizeof(Word)) {
        return same_bits<Word>(sum);
    } else {
        constexpr Word ones = (Word(1) << (8 * sizeof(SumStored) % 32)) - 1;
        return (word & ~(ones << shift)) | ((static_cast<Word>(sum) & ones) << shift);
    }
}
WEFT_DEVICE SumStored sum_in(Word word, u32 shift) {
    if constexpr (sizeof(SumStored) == sizeof(Word)) return same_bits<SumStored>(word);
    else return static_cast<SumStored>(word >> shift);
}

// Add to a sum that other lanes add to at the same time.
template <class Stored>
WEFT_DEVICE void accumulate(Stored* out, i64 i, Sum made) {
    if constexpr (adds) {
        atomic_add(out + i, static_cast<Stored>(made));
    } else {
        constexpr u32 each = sizeof(Word) / sizeof(SumStored);
        Word* const word = reinterpret_cast<Word*>(out) + i / each;
        const u32 shift = static_cast<u32>(i % each) * 8 * sizeof(SumStored) % 32;
        Word seen = load_relaxed(word);
        while (true) {
            const Sum before = static_cast<Sum>(sum_in(seen, shift));
            const Word next = with_sum(seen, shift, static_cast<SumStored>(sum_of(before, made)));
            if (next == seen) return;
            const Word old = atomic_cas(word, seen, next);
            if (old == seen) return;
            seen = old;
        }
    }
}

struct Target {
    SumStored* out;
    u32* there;  // a byte for each place, four to a word
    Mask<MStored> mask;
    u32 found;

    WEFT_DEVICE void take(i64 i, CellStored cell, GivenStored x) {
        if (!mask.admits(i)) return;
        const u32 bit = 1u << (i % 4 * 8);
        const bool seen = (load_relaxed(there + i / 4) & bit) != 0;
        if (wins && seen) return;
        const bool first = !seen && (atomic_or(there + i / 4, bit) & bit) == 0;
        found += first;
        if constexpr (wins) {
            if (first) out[i] = static_cast<SumStored>(made_of(cell, x));
        } else {
            accumulate(out, i, made_of(cell, x));
        }
    }
};

}  // namespace weft

// Clear the result, and list the rows that have a value: short ones from the front of the queue,
// parts of long ones from its end, each with its number in the upper half. `counts` is how many
// places of the result have a value, how many short rows there are, and how many parts.
extern "C" __global__ void WEFT_BOUNDS(256, 4) push_start(
    const weft::i64* offsets, const weft::u8* x_there, weft::SumStored* out, weft::u32* there,
    weft::i64* queue, weft::i64* counts, weft::i64 num_rows, weft::i64 num_out, weft::i64 room,
    weft::i64 flags) {
    using namespace weft;
    const i64 num_words = (num_out + 3) / 4, most = num_rows > num_out ? num_rows : num_out;
    for (i64 base = global_id() - lane_id(); base < most; base += global_size()) {
        const i64 i = base + lane_id();
        if (!wins && i < num_out) out[i] = static_cast<SumStored>(start());
        if (i < num_words) there[i] = 0;
        const bool active = i < num_rows && is_there(x_there, i, flags, x_full);
        const i64 length = active ? offsets[i + 1] - offsets[i] : 0;
        const bool is_short = length > 0 && length <= short_row;
        const u32 shorts = ballot(full_mask, is_short);
        if (shorts != 0) {
            i64 at = 0;
            if (lane_id() == 0) at = atomic_add(counts + 1, static_cast<i64>(popcount(shorts)));
            at = shuffle(full_mask, at, 0);
            if (is_short) queue[at + popcount(shorts & lanes_below())] = i;
        }
        u32 longs = ballot(full_mask, length > short_row);
        for (; longs != 0; longs &= longs - 1) {
            const u32 lane = ffs(longs) - 1;
            const i64 row = base + lane;
            const i64 parts = (shuffle(full_mask, length, lane) + part_of_push - 1) / part_of_push;
            i64 at = 0;
            if (lane_id() == 0) at = atomic_add(counts + 2, parts);
            at = shuffle(full_mask, at, 0);
            for (i64 part = lane_id(); part < parts; part += warp_size) {
                queue[room - 1 - at - part] = row | part << 32;
            }
        }
    }
}

// Add the products of the listed rows to their places.
extern "C" __global__ void WEFT_BOUNDS(256, 4) push_spread(
    const weft::i64* offsets, const weft::i32* cols, const weft::CellStored* cells, const weft::GivenStored* x,
    const weft::i64* queue, const weft::MStored* mask, const weft::u8* mask_there,
    weft::SumStored* out, weft::u32* there, weft::i64* counts, weft::i64 room, weft::i64 flags) {
    using namespace weft;
    Target target{out, there, {mask, mask_there, flags}, 0};
    const i64 warp = global_id() / warp_size, warps = global_size() / warp_size;
    const i64 shorts = counts[1], parts = counts[2];
    for (i64 at = warp; at < parts; at += warps) {
        const i64 part = queue[room - 1 - at], row = part & 0xffffffff;
        const i64 begin = offsets[row] + (part >> 32) * part_of_push, stop = offsets[row + 1];
        const i64 end = begin + part_of_push < stop ? begin + part_of_push : stop;
        const GivenStored mine = x[row];
        WEFT_UNROLL(4)
        for (i64 slot = begin + lane_id(); slot < end; slot += warp_size) {
            target.take(load_constant(cols + slot), cells[slot], mine);
        }
    }
    for (i64 base = warp * warp_size; base < shorts; base += warps * warp_size) {
        const bool mine = base + lane_id() < shorts;
        const i64 row = mine ? queue[base + lane_id()] : 0;
        const i64 begin = offsets[row];
        const u32 length = mine ? static_cast<u32>(offsets[row + 1] - begin) : 0;
        const GivenStored held = mine ? x[row] : GivenStored();
        u32 upto = length;
        WEFT_UNROLL(5)
        for (u32 step = 1; step < warp_size; step *= 2) {
            const u32 before = shuffle_up(full_mask, upto, step);
            if (lane_id() >= step) upto += before;
        }
        const u32 total = shuffle(full_mask, upto, warp_size - 1);
        const i64 shift = begin - (upto - length);
        for (u32 first = 0; first < total; first += warp_size) {
            const u32 e = first + lane_id();
            u32 at = 0;  // the row of entry e
            WEFT_UNROLL(5)
            for (u32 half = warp_size / 2; half > 0; half /= 2) {
                if (shuffle(full_mask, upto, at + half - 1) <= e) at += half;
            }
            const i64 slot = shuffle(full_mask, shift, at) + e;
            const GivenStored value = shuffle_any(full_mask, held, at);
            if (e < total) target.take(load_constant(cols + slot), cells[slot], value);
        }
    }
    count_there(target.found, counts);
}

#endif
