// What the hand-written kernels share: a grid barrier, and the slots of 32 rows taken evenly.
//
// Plain CUDA without toolkit headers. THREADS (of a block) and BLOCKS (of a multiprocessor) are
// defined before. `EMULATED` is defined where a host emulation stands in for the GPU; it brings its
// own barrier and its own way to declare shared memory.
typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef EMULATED
#define SHARED(type, name, count) __shared__ type name[count]
#endif

static const u32 full = 0xffffffffu;
static const u32 most_warps = THREADS / 32;

__device__ __forceinline__ u32 lane_of() { return threadIdx.x % 32; }
__device__ __forceinline__ u32 warp_of() { return threadIdx.x / 32; }
__device__ __forceinline__ i64 grid_warp() {
    return (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
}
__device__ __forceinline__ i64 grid_warps() {
    return static_cast<i64>(gridDim.x) * blockDim.x / 32;
}

// All blocks of a cooperative launch meet. The word is zero before the first use; its top bit
// turns when the last block has come.
__device__ __forceinline__ void meet_grid(u32* word) {
#ifdef EMULATED
    weft::sync_grid(word);
#else
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const u32 share = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
        const u32 seen = atomicAdd(word, share);
        while (((*static_cast<volatile u32*>(word) ^ seen) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
#endif
}

__device__ __forceinline__ i64 scan_warp(i64 value) {
    for (u32 delta = 1; delta < 32; delta *= 2) {
        const i64 below = __shfl_up_sync(full, value, delta);
        if (lane_of() >= delta) value += below;
    }
    return value;
}

// Rows of one warp that have slots, in order; in shared memory.
struct Board {
    i64 base[32];   // slot of a position = base + position
    i64 start[33];  // first position of each row; one more for the end
    int row[32];
};

// Every lane brings a row; returns the number of slots of all.
__device__ __forceinline__ i64 lay_out(Board& board, int row, i64 begin, i64 degree, i64& start) {
    const i64 sum = scan_warp(degree);
    const i64 total = __shfl_sync(full, sum, 31);
    start = sum - degree;
    const u32 present = __ballot_sync(full, degree > 0);
    __syncwarp();
    if (degree > 0) {
        const u32 place = __popc(present & ((1u << lane_of()) - 1));
        board.row[place] = row;
        board.base[place] = begin - start;
        board.start[place] = start;
    }
    if (lane_of() == 0) board.start[__popc(present)] = total;
    __syncwarp();
    return total;
}

// Which rows start in the 32 positions from `window` on, as bits.
__device__ __forceinline__ u32 starting(i64 start, i64 degree, i64 window) {
    const bool here = degree > 0 && start >= window && start < window + 32;
    return __reduce_or_sync(full, here ? 1u << static_cast<u32>(start - window) : 0u);
}

// The lanes of a warp take the slots of 32 rows evenly: visit(row, slot). Lanes without a slot in
// a window call idle(), so that `visit` and `idle` may hold warp-wide operations of equal shape.
template <class Visit>
__device__ __forceinline__ void take_evenly(Board& board, int row, i64 begin, i64 degree,
                                            Visit visit) {
    i64 start;
    const i64 total = lay_out(board, row, begin, degree, start);
    u32 last = 0xffffffffu;
    for (i64 window = 0; window < total; window += 32) {
        const u32 starts = starting(start, degree, window);
        const u32 rank = last + __popc(starts & ((2u << lane_of()) - 1));
        last += __popc(starts);
        const i64 position = window + lane_of();
        const bool inside = position < total;
        visit(inside, inside ? board.row[rank] : 0, inside ? board.base[rank] + position : 0);
    }
}

// Entries for a queue in global memory, gathered by each warp in shared memory.
struct Bin {
    int entry[128];
};

__device__ __forceinline__ void flush(Bin& bin, u32& count, int* queue, u64* tail) {
    __syncwarp();
    u64 at = 0;
    if (lane_of() == 0 && count > 0) at = atomicAdd(tail, static_cast<u64>(count));
    at = __shfl_sync(full, at, 0);
    for (u32 i = lane_of(); i < count; i += 32) queue[at + i] = bin.entry[i];
    count = 0;
    __syncwarp();
}

// All lanes of a warp together: those that have a vertex put it into the bin.
__device__ __forceinline__ void put(Bin& bin, u32& count, bool has, int vertex, int* queue,
                                    u64* tail) {
    const u32 wanted = __ballot_sync(full, has);
    if (wanted == 0) return;
    if (has) bin.entry[count + __popc(wanted & ((1u << lane_of()) - 1))] = vertex;
    count += __popc(wanted);
    if (count > 96) flush(bin, count, queue, tail);
}

// Rows that a warp takes at a time: 32, or so few that all warps have some.
__device__ __forceinline__ i64 rows_at_a_time(i64 size, i64 warps) {
    if (size >= warps * 32) return 32;
    const i64 even = (size + warps - 1) / warps;
    return even < 1 ? 1 : even;
}
