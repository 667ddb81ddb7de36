// Lists in global memory that many threads append to.
#ifndef WEFT_BINS_CUH
#define WEFT_BINS_CUH

#include "device.cuh"

namespace weft {

// A list: `tail` counts what was asked for, also what found no place. What lies beyond `capacity`
// is not written; `overflow` tells of it.
template <class Vertex>
struct List {
    Vertex* items;
    i64 capacity;
    u64* tail;
    u64* overflow;

    WEFT_DEVICE bool put(u64 place, i64 v) const {
        if (place >= static_cast<u64>(capacity)) {
            store_relaxed(overflow, 1);
            return false;
        }
        items[place] = static_cast<Vertex>(v);
        return true;
    }

    // One entry, by any thread. `lanes`: those of its warp that append here together with it, which
    // take their places by one atomic. False if there was no place.
    WEFT_DEVICE bool append(i64 v, u32 lanes) const {
        const u32 leader = ffs(lanes) - 1;
        u64 first = 0;
        if (lane_id() == leader) first = atomic_add(tail, popcount(lanes));
        first = shuffle(lanes, first, leader);
        return put(first + popcount(lanes & lanes_below()), v);
    }
};

// A place in a bin for each of the `lanes` that ask together, by one atomic; beyond the room of the
// bin once it is full.
WEFT_DEVICE u32 place_in_bin(u32* count, u32 lanes) {
    const u32 leader = ffs(lanes) - 1;
    u32 first = 0;
    if (lane_id() == leader) first = atomic_add(count, popcount(lanes));
    return shuffle(lanes, first, leader) + popcount(lanes & lanes_below());
}

// The number of entries in a bin of which `asked` were asked for.
WEFT_DEVICE u32 held_in_bin(u32 asked, u32 bin_size) { return asked < bin_size ? asked : bin_size; }

// Bytes of shared memory in whole units, so that whatever follows is aligned.
WEFT_DEVICE constexpr u64 whole_units(u64 bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace weft

#endif
