// Breadth-first search by push in one cooperative kernel: a warp takes 32 vertices of the queue, its
// lanes their arcs evenly. Whoever swaps the level of a vertex writes its parent and queues it.
//
// A grid barrier ends each level. sizes[3]: the queue that is read, the one that is filled, the one
// that comes after it and is cleared meanwhile.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
bfs(const i64* __restrict__ offsets, const int* __restrict__ targets, int* level, int* parent,
    int* queue_0, int* queue_1, u64* sizes, u32* barrier) {
    SHARED(Board, boards, most_warps);
    SHARED(Bin, bins, most_warps);
    Board& board = boards[warp_of()];
    Bin& bin = bins[warp_of()];
    u32 count = 0;
    for (int depth = 0;; ++depth) {
        const i64 size = static_cast<i64>(__ldcg(sizes + depth % 3));
        if (size == 0) return;
        u64* const tail = sizes + (depth + 1) % 3;
        if (blockIdx.x == 0 && threadIdx.x == 0) sizes[(depth + 2) % 3] = 0;
        const int* const here = depth % 2 == 0 ? queue_0 : queue_1;
        int* const there = depth % 2 == 0 ? queue_1 : queue_0;
        const i64 tile = rows_at_a_time(size, grid_warps());
        for (i64 first = grid_warp() * tile; first < size; first += grid_warps() * tile) {
            const i64 place = first + lane_of();
            const bool has = lane_of() < tile && place < size;
            const int u = has ? __ldcg(here + place) : 0;
            const i64 begin = has ? offsets[u] : 0;
            const i64 degree = has ? offsets[u + 1] - begin : 0;
            take_evenly(board, u, begin, degree, [&](bool inside, int row, i64 slot) {
                int v = 0;
                bool won = false;
                if (inside) {
                    v = targets[slot];
                    won = __ldcg(level + v) < 0 && atomicCAS(level + v, -1, depth + 1) == -1;
                    if (won) parent[v] = row;
                }
                put(bin, count, won, v, there, tail);
            });
        }
        flush(bin, count, there, tail);
        meet_grid(barrier);
    }
}
