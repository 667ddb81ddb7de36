// What the lanes of a group do together: the same value for all, sums over lanes, transposing.
//
// A group is `lanes` consecutive threads of a warp, a power of two, or all of a block of more
// threads than a warp has; of one lane nothing is to be done. All lanes of a group call together;
// other groups of the warp may be elsewhere. In a block, values go through shared memory: a barrier
// before it is written, since the last values may still be read, and one after.
#ifndef WEFT_GROUPS_CUH
#define WEFT_GROUPS_CUH

#include "sweep.cuh"

namespace weft {

// The width of the groups that share the features of one vertex or arc; what is generated for wider
// groups has a constant of this name of its own, which hides this one.
constexpr u32 feature_lanes = 1;

template <u32 lanes>
WEFT_DEVICE bool is_first() {
    if constexpr (lanes == 1) return true;
    else return Group<lanes>::lane() == 0;
}

// What the lanes read before it is read before any of them writes after it.
template <u32 lanes>
WEFT_DEVICE void sync_group() {
    if constexpr (lanes > warp_size) sync_block();
    else if constexpr (lanes > 1) sync_warp(Group<lanes>::mask());
}

// The value that a lane of the group has.
template <u32 lanes, class T>
WEFT_DEVICE T from_lane(const T& value, u32 lane WEFT_HERE) {
    if constexpr (lanes == 1) {
        return value;
    } else if constexpr (lanes > warp_size) {
        WEFT_SHARED(T, told, 1);
        sync_block();
        if (thread_id() == lane) told[0] = value;
        sync_block();
        return told[0];
    } else {
        return shuffle_any(Group<lanes>::mask(), value, lane, lanes WEFT_PASS);
    }
}

// What the first lane finds; the others do not look.
template <u32 lanes, class Find>
WEFT_DEVICE auto by_first(Find find WEFT_HERE) {
    decltype(find()) found{};
    if (is_first<lanes>()) found = find();
    return from_lane<lanes>(found, 0 WEFT_PASS);
}

template <u32 lanes>
WEFT_DEVICE bool any_lane(bool predicate WEFT_HERE) {
    if constexpr (lanes == 1) return predicate;
    else if constexpr (lanes > warp_size) return sync_block_or(predicate WEFT_PASS);
    else return any(Group<lanes>::mask(), predicate WEFT_PASS);
}

// The values of all lanes combined. All get the same bits, whatever the order of the operands does.
template <u32 lanes, class T, class Combine>
WEFT_DEVICE T combine_lanes(T value, Combine combine WEFT_HERE) {
    if constexpr (lanes == 1) {
        return value;
    } else if constexpr (lanes > warp_size) {
        value = combine_lanes<warp_size>(value, combine WEFT_PASS);
        WEFT_SHARED(T, of_warps, lanes / warp_size);
        sync_block();
        if (lane_id() == 0) of_warps[thread_id() / warp_size] = value;
        sync_block();
        value = of_warps[0];
        for (u32 k = 1; k < lanes / warp_size; ++k) value = combine(value, of_warps[k]);
        return value;
    } else {
        WEFT_UNROLL(5)
        for (u32 stride = lanes / 2; stride > 0; stride /= 2) {
            value = combine(value, shuffle_any(Group<lanes>::mask(), value, lane_id() ^ stride,
                                               warp_size WEFT_PASS));
        }
        return from_lane<lanes>(value, 0 WEFT_PASS);
    }
}

// Every lane brings as many values as there are lanes; lane i gets the i-th of every lane, combined.
// A lane keeps one half of them and gives the other away, again and again.
template <u32 lanes, class T, class Combine>
WEFT_DEVICE T scatter_combined(T (&values)[lanes], Combine combine WEFT_HERE) {
    WEFT_UNROLL(5)
    for (u32 half = lanes / 2; half > 0; half /= 2) {
        const bool upper = (lane_id() & half) != 0;
        WEFT_UNROLL(16)
        for (u32 i = 0; i < half; ++i) {
            const T given = upper ? values[i] : values[i + half];
            const T kept = upper ? values[i + half] : values[i];
            const T got = shuffle_any(Group<lanes>::mask(), given, lane_id() ^ half,
                                      warp_size WEFT_PASS);
            values[i] = combine(kept, got);
        }
    }
    return values[0];
}

// Every lane has a column of a square; afterwards it has a row. Blocks of it change places across
// the diagonal, smaller and smaller ones.
template <u32 lanes, class T>
WEFT_DEVICE void transpose_square(T (&values)[lanes] WEFT_HERE) {
    WEFT_UNROLL(5)
    for (u32 half = lanes / 2; half > 0; half /= 2) {
        const bool upper = (lane_id() & half) != 0;
        WEFT_UNROLL(32)
        for (u32 i = 0; i < lanes; ++i) {
            if ((i & half) != 0) continue;
            const T given = upper ? values[i] : values[i + half];
            const T got = shuffle_any(Group<lanes>::mask(), given, lane_id() ^ half,
                                      warp_size WEFT_PASS);
            if (upper) values[i] = got;
            else values[i + half] = got;
        }
    }
}

// A group takes one place after another.
template <u32 lanes, class Each>
WEFT_DEVICE void for_groups(const Place& place, i64 size, const Each& each) {
    const i64 stride = num_groups<lanes>(place);
    for (i64 i = first_group<lanes>(place); i < size; i += stride) each(i);
}

}  // namespace weft

#endif
