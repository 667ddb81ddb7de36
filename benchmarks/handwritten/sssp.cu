// Shortest paths by unordered push relaxation in one cooperative kernel: a warp takes 32 vertices of
// the queue, its lanes their arcs evenly. A vertex is one word of distance (above) and parent, so
// that an atomic minimum changes both; a stamp keeps it from being queued twice.
//
// A grid barrier ends each round; the three sizes of queues are as in bfs.cu.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
sssp(const i64* __restrict__ offsets, const int* __restrict__ targets,
     const int* __restrict__ weights, u64* pair, u32* stamp, int* queue_0, int* queue_1,
     u64* sizes, u32* barrier) {
    SHARED(Board, boards, most_warps);
    SHARED(Bin, bins, most_warps);
    Board& board = boards[warp_of()];
    Bin& bin = bins[warp_of()];
    u32 count = 0;
    for (u32 round = 0;; ++round) {
        const i64 size = static_cast<i64>(__ldcg(sizes + round % 3));
        if (size == 0) return;
        u64* const tail = sizes + (round + 1) % 3;
        if (blockIdx.x == 0 && threadIdx.x == 0) sizes[(round + 2) % 3] = 0;
        const int* const here = round % 2 == 0 ? queue_0 : queue_1;
        int* const there = round % 2 == 0 ? queue_1 : queue_0;
        const i64 tile = rows_at_a_time(size, grid_warps());
        for (i64 first = grid_warp() * tile; first < size; first += grid_warps() * tile) {
            const i64 place = first + lane_of();
            const bool has = lane_of() < tile && place < size;
            const int u = has ? __ldcg(here + place) : 0;
            const i64 begin = has ? offsets[u] : 0;
            const i64 degree = has ? offsets[u + 1] - begin : 0;
            take_evenly(board, u, begin, degree, [&](bool inside, int row, i64 slot) {
                int v = 0;
                bool fresh = false;
                if (inside) {
                    v = targets[slot];
                    const u64 dist = (__ldcg(pair + row) >> 32) + static_cast<u64>(weights[slot]);
                    const u64 offer = dist << 32 | static_cast<u32>(row);
                    if (dist < __ldcg(pair + v) >> 32 &&
                        dist < atomicMin(pair + v, offer) >> 32) {
                        fresh = atomicExch(stamp + v, round + 1) != round + 1;
                    }
                }
                put(bin, count, fresh, v, there, tail);
            });
        }
        flush(bin, count, there, tail);
        meet_grid(barrier);
    }
}
