// Connected components in one cooperative kernel: every arc hooks the larger of two roots under the
// smaller one, then every vertex climbs to its root. A warp takes 32 rows, its lanes their arcs
// evenly. The same link as weft's algorithm: path halving on the way up.
//
// One grid barrier between hooking and climbing.
__device__ __forceinline__ void link(int* parent, int a, int b) {
    while (a != b) {
        const int low = a < b ? a : b, high = a < b ? b : a;
        int above = __ldcg(parent + high);
        if (above == high) {
            const int before = atomicCAS(parent + high, high, low);
            above = before == high ? low : before;
        }
        const bool done = above == low;
        const int higher = __ldcg(parent + (done ? high : above));
        b = __ldcg(parent + (done ? high : low));
        atomicMin(parent + high, higher);
        a = higher;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
components(i64 n, const i64* __restrict__ offsets, const int* __restrict__ targets, int* parent,
           u32* barrier) {
    SHARED(Board, boards, most_warps);
    Board& board = boards[warp_of()];
    for (i64 first = grid_warp() * 32; first < n; first += grid_warps() * 32) {
        const i64 u = first + lane_of();
        const i64 begin = u < n ? offsets[u] : 0;
        const i64 degree = u < n ? offsets[u + 1] - begin : 0;
        take_evenly(board, static_cast<int>(u), begin, degree, [&](bool inside, int row, i64 slot) {
            if (inside) link(parent, __ldcg(parent + row), __ldcg(parent + targets[slot]));
        });
    }
    meet_grid(barrier);
    const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
    for (i64 v = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; v < n; v += step) {
        int root = __ldcg(parent + v);
        for (int above = __ldcg(parent + root); above != root; above = __ldcg(parent + root)) {
            root = above;
        }
        __stcg(parent + v, root);
    }
}
