// Kernels of the shapes that the engine generates: scans, reductions, persistent loops, clusters,
// locks.
#include "device.cuh"

using namespace weft;

constexpr u32 max_warps = 32;

// Inclusive scan over a block: each warp by shuffles, then the warps' totals by the first warp.
__device__ i32 scan_block(i32 value) {
    WEFT_SHARED(i32, totals, max_warps);
    for (u32 delta = 1; delta < warp_size; delta *= 2) {
        const i32 below = shuffle_up(full_mask, value, delta);
        if (lane_id() >= delta) value += below;
    }
    if (lane_id() == warp_size - 1) totals[warp_id()] = value;
    sync_block();
    if (warp_id() == 0) {
        i32 total = lane_id() < block_size() / warp_size ? totals[lane_id()] : 0;
        for (u32 delta = 1; delta < warp_size; delta *= 2) {
            const i32 below = shuffle_up(full_mask, total, delta);
            if (lane_id() >= delta) total += below;
        }
        totals[lane_id()] = total;
    }
    sync_block();
    if (warp_id() > 0) value += totals[warp_id() - 1];
    sync_block();
    return value;
}

// Twice, so that the shared totals are used again.
__global__ void scan_twice(const i32* in, i32* once, i32* twice) {
    const i64 i = global_id();
    once[i] = scan_block(in[i]);
    twice[i] = scan_block(once[i]);
}

// A warp per row, lanes striding over it.
__global__ void row_sums(const i64* offsets, const double* values, double* sums, u32 rows) {
    const u32 warps = grid_size() * block_size() / warp_size;
    for (u32 row = static_cast<u32>(global_id() / warp_size); row < rows; row += warps) {
        double sum = 0;
        for (i64 slot = offsets[row] + lane_id(); slot < offsets[row + 1]; slot += warp_size) {
            sum += values[slot];
        }
        sum = reduce_add(full_mask, sum);
        if (lane_id() == 0) sums[row] = sum;
    }
}

// A persistent loop: each round reads one buffer and writes the other, a grid barrier between
// rounds.
__global__ void diffuse(i64* first, i64* second, u32 n, u32 rounds, u32* barrier) {
    i64* from = first;
    i64* to = second;
    for (u32 round = 0; round < rounds; ++round) {
        for (i64 i = global_id(); i < n; i += global_size()) {
            to[i] = from[i] + (i > 0 ? from[i - 1] : 0) + (i + 1 < n ? from[i + 1] : 0);
        }
        sync_grid(barrier);
        i64* swap = from;
        from = to;
        to = swap;
    }
}

// Every block of a cluster adds up what all its blocks put into their shared memory.
__global__ void cluster_sums(const i32* in, i32* out, u32* ranks) {
    WEFT_SHARED(i32, mine, 256);
    const u32 t = thread_id();
    mine[t] = in[global_id()];
    sync_cluster();
    i32 sum = 0;
    for (u32 rank = 0; rank < cluster_size(); ++rank) sum += cluster_pointer(&mine[0], rank)[t];
    out[global_id()] = sum;
    ranks[global_id()] = cluster_rank();
    sync_cluster();  // No block may leave while others read its memory.
}

__global__ void reverse_dynamic(i32* data) {
    WEFT_SHARED(i32, held);
    const u32 t = thread_id();
    i32* chunk = data + block_id() * block_size();
    held[t] = chunk[t];
    sync_block();
    chunk[t] = held[block_size() - 1 - t];
}

__global__ void histogram(const u32* in, u32 n, u64* bins, u32 num_bins) {
    WEFT_SHARED(u32, local);
    for (u32 i = thread_id(); i < num_bins; i += block_size()) local[i] = 0;
    sync_block();
    for (i64 i = global_id(); i < n; i += global_size()) atomic_add(&local[in[i]], 1u);
    sync_block();
    for (u32 i = thread_id(); i < num_bins; i += block_size()) atomic_add(&bins[i], local[i]);
}

// A lock around plain memory.
__global__ void locked_count(u32* lock, i32* count) {
    spin_wait([=] { return atomic_cas(lock, 0u, 1u) == 0; });
    fence_device();
    count[0] += 1;
    fence_device();
    atomic_exch(lock, 0u);
}

// The last block to finish adds up what all blocks have written.
__global__ void last_block_sums(const i32* in, i32* partial, u32* done, i32* total) {
    WEFT_SHARED(bool, is_last, 1);
    const i32 sum = reduce_add(full_mask, in[global_id()]);
    if (lane_id() == 0) partial[global_id() / warp_size] = sum;
    fence_device();
    sync_block();
    if (thread_id() == 0) {
        fence_device();
        is_last[0] = atomic_add(done, 1u) == grid_size() - 1;
        fence_device();
    }
    sync_block();
    if (is_last[0] && thread_id() == 0) {
        i32 all = 0;
        for (u32 i = 0; i < grid_size() * block_size() / warp_size; ++i) all += partial[i];
        total[0] = all;
    }
}
