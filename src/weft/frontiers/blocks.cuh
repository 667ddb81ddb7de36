// What all threads of a block know together.
#ifndef WEFT_BLOCKS_CUH
#define WEFT_BLOCKS_CUH

#include "device.cuh"

namespace weft {

constexpr u32 most_warps = 32;  // of a block

// The values of all threads of the block combined, for all of them. Ends with a block barrier.
template <class T, class Combine>
WEFT_DEVICE T reduce_block(T value, Combine combine) {
    WEFT_SHARED(T, parts, most_warps);
    value = reduce(full_mask, value, combine);
    if (lane_id() == 0) parts[warp_id()] = value;
    sync_block();
    T total = parts[0];
    for (u32 warp = 1; warp < block_size() / warp_size; ++warp) total = combine(total, parts[warp]);
    sync_block();
    return total;
}

// The sum of the values of the warps before one's own (all lanes of a warp give the same value),
// and the sum over the block in `total`. Ends with a block barrier.
WEFT_DEVICE u32 scan_warps(u32 value, u32& total) {
    WEFT_SHARED(u32, parts, most_warps);
    if (lane_id() == 0) parts[warp_id()] = value;
    sync_block();
    u32 sum = lane_id() < block_size() / warp_size ? parts[lane_id()] : 0;
    for (u32 delta = 1; delta < warp_size; delta *= 2) {
        const u32 below = shuffle_up(full_mask, sum, delta);
        if (lane_id() >= delta) sum += below;
    }
    total = shuffle(full_mask, sum, warp_size - 1);
    const u32 through_own = shuffle(full_mask, sum, warp_id());
    sync_block();
    return through_own - value;
}

}  // namespace weft

#endif
