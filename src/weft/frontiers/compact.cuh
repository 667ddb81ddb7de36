// Members to a sorted queue, and one kind of frontier to another, by all blocks of a place.
//
// A *member* is a functor bool(i64 v); a *degree_of* is a functor i64(i64 v). What they read is not
// written during the phase.
//
// A queue takes two phases with a barrier over all blocks between them: count_members, then
// write_members, with the same place, n and member. Each block has a contiguous stretch of the
// vertices and goes through it tile by tile. In a tile a warp has 32 * 32 vertices as 32 words of
// bits, one per lane, made by ballots; it writes them word by word, so that loads and stores are
// coalesced and the block needs one scan per tile.
#ifndef WEFT_COMPACT_CUH
#define WEFT_COMPACT_CUH

#include "blocks.cuh"
#include "output.cuh"
#include "sweep.cuh"

namespace weft {

struct StampMember {
    const u32* stamps;
    u32 epoch;
    WEFT_DEVICE bool operator()(i64 v) const { return stamps[v] == epoch; }
};

// Bits from n on may be anything.
struct BitmapMember {
    const u32* words;
    WEFT_DEVICE bool operator()(i64 v) const { return words[v >> 5] >> (v & 31) & 1; }
};

struct BytemapMember {
    const u8* bytes;
    WEFT_DEVICE bool operator()(i64 v) const { return bytes[v] != 0; }
};

constexpr i64 word_bits = 32;
constexpr i64 warp_tile = word_bits * warp_size;

// The bits of the vertices first + 32 * lane .. + 31, the lane's word of a warp's tile; bits of
// vertices from `end` on are zero. All lanes of the warp come, with the same arguments.
template <class Member>
WEFT_DEVICE u32 member_word(const Member& member, i64 first, i64 end) {
    constexpr u32 together = 8;  // loads that are on their way at once
    u32 word = 0;
    for (u32 i = 0; i < warp_size && first + i * word_bits < end; i += together) {
        bool in[together];
        for (u32 k = 0; k < together; ++k) {
            const i64 v = first + (i + k) * word_bits + lane_id();
            in[k] = v < end && member(v);
        }
        for (u32 k = 0; k < together; ++k) {
            const u32 bits = ballot(full_mask, in[k]);
            if (lane_id() == i + k) word = bits;
        }
    }
    return word;
}
WEFT_DEVICE u32 member_word(const BitmapMember& member, i64 first, i64 end) {
    const i64 v = first + lane_id() * word_bits;
    if (v >= end) return 0;
    const u32 word = member.words[v >> 5];
    return end - v < word_bits ? word & ((1u << (end - v)) - 1) : word;
}

// The vertices of a block, in whole tiles of a warp.
struct Stretch {
    i64 begin, end;
    WEFT_DEVICE Stretch(const Place& place, i64 n) {
        const i64 share = (n + place.blocks - 1) / place.blocks;
        const i64 length = (share + warp_tile - 1) / warp_tile * warp_tile;
        begin = place.block * length < n ? place.block * length : n;
        end = begin + length < n ? begin + length : n;
    }
};

// counts[place.block] = members among the block's vertices.
template <class Member>
WEFT_DEVICE void count_members(const Place& place, i64 n, const Member& member, u64* counts) {
    const Stretch mine(place, n);
    u64 count = 0;
    for (i64 first = mine.begin + warp_id() * warp_tile; first < mine.end;
         first += block_size() * word_bits) {
        count += popcount(member_word(member, first, mine.end));
    }
    count = reduce_block(count, Add());
    if (thread_id() == 0) counts[place.block] = count;
}

// A warp writes the members of its tile to consecutive places; returns the lane's part of the sum
// of their degrees.
template <class Vertex, class DegreeOf>
WEFT_DEVICE u64 write_words(u32 word, i64 first, Vertex* places, const DegreeOf& degree_of) {
    u64 edges = 0;
    for (u32 left = ballot(full_mask, word != 0); left != 0; left &= left - 1) {
        const u32 from = ffs(left) - 1;
        const u32 bits = shuffle(full_mask, word, from);
        if ((bits >> lane_id() & 1) != 0) {
            const i64 v = first + from * word_bits + lane_id();
            places[popcount(bits & lanes_below())] = static_cast<Vertex>(v);
            edges += static_cast<u64>(degree_of(v));
        }
        places += popcount(bits);
    }
    return edges;
}

// The queue of all members in rising order; it has room for all of them. Adds their number to the
// cells TAIL and EMITTED and the sum of their degrees to EDGES.
template <class Vertex, class Member, class DegreeOf>
WEFT_DEVICE void write_members(const Place& place, i64 n, const Member& member, const u64* counts,
                               Vertex* queue, const DegreeOf& degree_of, u64* cells) {
    u64 before = 0;
    for (u32 block = thread_id(); block < place.block; block += block_size()) {
        before += counts[block];
    }
    Vertex* places = queue + reduce_block(before, Add());
    const u64 members = counts[place.block];
    if (members == 0) return;  // the same for the whole block

    const Stretch mine(place, n);
    u64 edges = 0;
    for (i64 tile = mine.begin; tile < mine.end; tile += block_size() * word_bits) {
        const i64 first = tile + warp_id() * warp_tile;
        const u32 word = first < mine.end ? member_word(member, first, mine.end) : 0;
        u32 total;
        const u32 own = scan_warps(reduce_add(full_mask, popcount(word)), total);
        edges += write_words(word, first, places + own, degree_of);
        places += total;
    }
    edges = reduce_block(edges, Add());
    if (thread_id() == 0) {
        atomic_add(cells + TAIL, members);
        atomic_add(cells + EMITTED, members);
        atomic_add(cells + EDGES, edges);
    }
}

// Call each(i) for every i of 0..size-1 once, by the threads of all blocks, side by side.
template <class Each>
WEFT_DEVICE void for_all(const Place& place, i64 size, const Each& each) {
    const i64 threads = static_cast<i64>(place.blocks) * block_size();
    for (i64 i = static_cast<i64>(place.block) * block_size() + thread_id(); i < size;
         i += threads) {
        each(i);
    }
}

// The same, where each call emits one vertex at most. All threads of a block go round together.
template <class Out, class DegreeOf, class Each>
WEFT_DEVICE void for_all_emitting(const Place& place, i64 size, Out& output,
                                  const DegreeOf& degree_of, const Each& each) {
    const i64 threads = static_cast<i64>(place.blocks) * block_size();
    for (i64 first = static_cast<i64>(place.block) * block_size(); first < size; first += threads) {
        if (first + thread_id() < size) each(first + thread_id());
        output.relieve(degree_of);
    }
}

// The vertices of a batch, each once, to an exact output; between its begin and its end.
template <class Vertex, class DegreeOf, class Out>
WEFT_DEVICE void filter_batch(const Place& place, const Vertex* batch, i64 size,
                              const DegreeOf& degree_of, Out& output) {
    static_assert(Out::exact, "the output's stamps tell who came before");
    for_all(place, size, [&](i64 i) {
        const i64 v = batch[i];
        if (load_relaxed(output.stamps + v) != output.epoch) output.emit_lazily(v, degree_of);
    });
}

// Mark what a queue holds, before members are counted by their stamps.
template <class Vertex>
WEFT_DEVICE void mark_queue(const Place& place, const Vertex* queue, i64 size, u32* stamps,
                            u32 epoch) {
    for_all(place, size, [&](i64 i) { store_relaxed(stamps + queue[i], epoch); });
}

template <class Word>
WEFT_DEVICE void clear_words(const Place& place, Word* words, i64 count) {
    for_all(place, count, [&](i64 i) { words[i] = 0; });
}

// No vertex of 0..n-1 is in the bitmap, or each of them is; bits from n on are zero.
WEFT_DEVICE void fill_bitmap(const Place& place, u32* words, i64 n, bool all_in = false) {
    for_all(place, (n + word_bits - 1) / word_bits, [&](i64 i) {
        const i64 left = n - i * word_bits;
        const u32 full = left < word_bits ? (1u << left) - 1 : full_mask;
        words[i] = all_in ? full : 0;
    });
}

// Add what a queue holds to a bitmap or a bytemap; vertices may be in the queue more than once.
template <class Vertex>
WEFT_DEVICE void queue_to_bitmap(const Place& place, const Vertex* queue, i64 size, u32* bitmap) {
    for_all(place, size, [&](i64 i) {
        const i64 v = queue[i];
        atomic_or(bitmap + (v >> 5), 1u << (v & 31));
    });
}
template <class Vertex>
WEFT_DEVICE void queue_to_bytemap(const Place& place, const Vertex* queue, i64 size, u8* bytemap) {
    for_all(place, size, [&](i64 i) { store_relaxed(bytemap + queue[i], 1); });
}

}  // namespace weft

#endif
