// PageRank by pull in one cooperative kernel: a warp sums the in-edges of 32 rows, its lanes take
// the slots evenly. `share` holds rank / out-degree of the iteration before, `next` that to come.
//
// A grid barrier ends each iteration. sums[3 * 2]: change and dangling mass, of three iterations in
// turn: one is added to, one is read, one is cleared.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
pagerank(i64 n, const i64* __restrict__ offsets, const int* __restrict__ targets, double damping,
         int iterations, double* rank, double* share, double* next, double* sums, u32* barrier) {
    SHARED(Board, boards, most_warps);
    Board& board = boards[warp_of()];
    const double home = 1.0 / static_cast<double>(n);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        double* const now = sums + iteration % 3 * 2;
        const double dangling = __ldcg(sums + (iteration + 2) % 3 * 2 + 1);
        if (blockIdx.x == 0 && threadIdx.x < 2) sums[(iteration + 1) % 3 * 2 + threadIdx.x] = 0;
        double change = 0, sunk = 0;

        auto settle = [&](i64 v, i64 degree, double arrived) {
            const double after = damping * (arrived + dangling * home) + (1 - damping) * home;
            change += after > rank[v] ? after - rank[v] : rank[v] - after;
            if (degree == 0) sunk += after;
            rank[v] = after;
            next[v] = after / static_cast<double>(degree > 1 ? degree : 1);
        };

        for (i64 first = grid_warp() * 32; first < n; first += grid_warps() * 32) {
            const i64 v = first + lane_of();
            const i64 begin = v < n ? offsets[v] : 0;
            const i64 degree = v < n ? offsets[v + 1] - begin : 0;
            if (v < n && degree == 0) settle(v, 0, 0.0);
            i64 start;
            const i64 total = lay_out(board, static_cast<int>(v), begin, degree, start);
            u32 last = 0xffffffffu;
            double partial = 0;  // of the row that the window before ended in
            bool spread = true;  // over all lanes, not in lane 0 alone
            for (i64 window = 0; window < total; window += 32) {
                const u32 starts = starting(start, degree, window);
                if (starts != 0 && last != 0xffffffffu) {
                    if (spread) {
                        for (u32 bits = 16; bits > 0; bits /= 2) {
                            partial += __shfl_xor_sync(full, partial, bits);
                        }
                    }
                    if (starts & 1) {  // the row before ends with the window before
                        if (lane_of() == 0) {
                            settle(board.row[last], board.start[last + 1] - board.start[last],
                                   partial);
                        }
                        partial = 0;
                    } else if (lane_of() != 0) {
                        partial = 0;
                    }
                }
                const u32 rank_here = last + __popc(starts & ((2u << lane_of()) - 1));
                last += __popc(starts);
                const i64 position = window + lane_of();
                if (position < total) {
                    partial += __ldcg(share + targets[board.base[rank_here] + position]);
                }
                if (starts != 0) {
                    // Sum neighbouring lanes of the same row into the first of them.
                    for (u32 delta = 1; delta < 32; delta *= 2) {
                        const double other = __shfl_down_sync(full, partial, delta);
                        const u32 other_rank = __shfl_down_sync(full, rank_here, delta);
                        if (lane_of() + delta < 32 && other_rank == rank_here) partial += other;
                    }
                    const bool leads = lane_of() == 0 || (starts >> lane_of() & 1);
                    if (leads && rank_here != last && position < total) {
                        settle(board.row[rank_here],
                               board.start[rank_here + 1] - board.start[rank_here], partial);
                    }
                    // What is left belongs to the last row; it goes on in lane 0.
                    partial = __shfl_sync(full, partial, 31 - __clz(starts | 1));
                    if (lane_of() != 0) partial = 0;
                    spread = false;
                } else {
                    spread = true;
                }
            }
            if (total > 0) {
                for (u32 bits = 16; bits > 0; bits /= 2) {
                    partial += __shfl_xor_sync(full, partial, bits);
                }
                if (lane_of() == 0) {
                    settle(board.row[last], board.start[last + 1] - board.start[last], partial);
                }
            }
        }
        for (u32 bits = 16; bits > 0; bits /= 2) {
            change += __shfl_xor_sync(full, change, bits);
            sunk += __shfl_xor_sync(full, sunk, bits);
        }
        if (lane_of() == 0) {
            if (change != 0) atomicAdd(now, change);
            if (sunk != 0) atomicAdd(now + 1, sunk);
        }
        meet_grid(barrier);
        double* const old = share;
        share = next;
        next = old;
    }
}
