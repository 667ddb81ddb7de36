// What the hand-written kernels of learning share: rows of features, K of them, by degree.
//
// A group of K / 4 lanes takes one slot, each lane four features by one access of 16 bytes. Short
// rows are one group's, longer ones a warp's; the longest are cut into pieces for blocks, whose
// parts meet in `scratch` and are finished by a second kernel. K is defined before: 4, 8, ..., 128.
struct alignas(16) Four {
    float f[4];
};
static const u32 lanes = K / 4;
static const u32 under_way = 4;  // slots whose loads are made together

__device__ __forceinline__ u32 lane_in_group() { return threadIdx.x % lanes; }
__device__ __forceinline__ u32 group_mask() {
    if (lanes == 32) return full;
    return ((1u << (lanes % 32)) - 1) << (lane_of() / lanes * lanes);
}
__device__ __forceinline__ float sum_group(float value) {
    for (u32 bits = lanes / 2; bits > 0; bits /= 2) {
        value += __shfl_xor_sync(group_mask(), value, bits);
    }
    return value;
}
__device__ __forceinline__ float most_group(float value) {
    for (u32 bits = lanes / 2; bits > 0; bits /= 2) {
        const float other = __shfl_xor_sync(group_mask(), value, bits);
        value = other > value ? other : value;
    }
    return value;
}

// Which rows a kernel takes: `listed` has the short ones, then those for warps.
struct Rows {
    i64 num_short, num_long, num_pieces;
    const int* listed;
    const int* piece_row;  // number of the cut row, its place in `scratch`
    const i64* piece_begin;
    const i64* piece_end;
    const i64* offsets;
};

// A group takes every `step`-th slot from `slot` on. `Update` has
//   Loaded load(slot); void take(Four& part, slot, loaded); Four nothing(); void combine(Four&, Four);
//   void finish(row, part)
template <class Update>
__device__ __forceinline__ Four take_slots(Update& update, i64 slot, i64 end, i64 step) {
    Four part = update.nothing();
    for (; slot < end; slot += under_way * step) {
        typename Update::Loaded loaded[under_way];
        for (u32 i = 0; i < under_way; ++i) {
            const i64 at = slot + i * step;
            loaded[i] = update.load(at < end ? at : slot);
        }
        for (u32 i = 0; i < under_way; ++i) {
            const i64 at = slot + i * step;
            if (at < end) update.take(part, at, loaded[i]);
        }
    }
    return part;
}

template <class Update>
__device__ __forceinline__ Four meet_warp(Update& update, Four part) {
    for (u32 bits = lanes; bits < 32; bits *= 2) {
        Four other;
        for (u32 i = 0; i < 4; ++i) other.f[i] = __shfl_xor_sync(full, part.f[i], bits);
        update.combine(part, other);
    }
    return part;
}

template <class Update>
__device__ __forceinline__ void take_rows(Update& update, const Rows& rows, float* scratch) {
    const u32 per_block = blockDim.x / lanes, per_warp = 32 / lanes;
    for (i64 p = blockIdx.x; p < rows.num_pieces; p += gridDim.x) {
        Four part = take_slots(update, rows.piece_begin[p] + threadIdx.x / lanes,
                               rows.piece_end[p], per_block);
        part = meet_warp(update, part);
        if (lane_of() < lanes) {
            for (u32 i = 0; i < 4; ++i) {
                atomicAdd(scratch + static_cast<i64>(rows.piece_row[p]) * K +
                              lane_in_group() * 4 + i, part.f[i]);
            }
        }
    }
    for (i64 i = grid_warp(); i < rows.num_long; i += grid_warps()) {
        const i64 row = rows.listed[rows.num_short + i];
        Four part = take_slots(update, rows.offsets[row] + lane_of() / lanes,
                               rows.offsets[row + 1], per_warp);
        part = meet_warp(update, part);
        if (lane_of() < lanes) update.finish(row, part);
    }
    const i64 groups = grid_warps() * per_warp;
    for (i64 i = grid_warp() * per_warp + lane_of() / lanes; i < rows.num_short; i += groups) {
        const i64 row = rows.listed[i];
        const Four part = take_slots(update, rows.offsets[row], rows.offsets[row + 1], 1);
        update.finish(row, part);
    }
}

// The rows that were cut, from `scratch`, which is cleared.
template <class Update>
__device__ __forceinline__ void finish_rows(Update& update, i64 count, const int* cut,
                                            float* scratch) {
    const u32 per_warp = 32 / lanes;
    for (i64 i = grid_warp() * per_warp + lane_of() / lanes; i < count;
         i += grid_warps() * per_warp) {
        Four* const place = reinterpret_cast<Four*>(scratch + i * K) + lane_in_group();
        const Four part = *place;
        *place = Four{{0, 0, 0, 0}};
        update.finish(cut[i], part);
    }
}
