// Label propagation by hand: an iteration in one pass over the arcs, x read and y written.
struct Labels {
    const int* targets;
    const float* weights;
    const Four* x;
    Four* y;
    float alpha;
    struct Loaded {
        float weight;
        Four labels;
    };
    __device__ Loaded load(i64 slot) {
        const i64 u = targets[slot];
        return Loaded{weights[slot], x[u * lanes + lane_in_group()]};
    }
    __device__ Four nothing() { return Four{{0, 0, 0, 0}}; }
    __device__ void combine(Four& part, const Four& other) {
        for (u32 i = 0; i < 4; ++i) part.f[i] += other.f[i];
    }
    __device__ void take(Four& part, i64, const Loaded& loaded) {
        for (u32 i = 0; i < 4; ++i) part.f[i] += loaded.weight * loaded.labels.f[i];
    }
    __device__ void scale(Four& part) {
        const float total = sum_group(part.f[0] + part.f[1] + part.f[2] + part.f[3]);
        if (total == 0) return;
        for (u32 i = 0; i < 4; ++i) part.f[i] /= total;
    }
    __device__ void finish(i64 row, Four part) {
        const Four own = x[row * lanes + lane_in_group()];
        scale(part);
        for (u32 i = 0; i < 4; ++i) part.f[i] = alpha * part.f[i] + (1 - alpha) * own.f[i];
        scale(part);
        y[row * lanes + lane_in_group()] = part;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    lp(i64 num_short, i64 num_long, i64 num_pieces, const int* listed, const int* piece_row,
       const i64* piece_begin, const i64* piece_end, const i64* offsets, const int* targets,
       const float* weights, const float* x, float* y, float* scratch, float alpha) {
    Labels labels{targets, weights, reinterpret_cast<const Four*>(x), reinterpret_cast<Four*>(y),
                  alpha};
    const Rows rows{num_short, num_long, num_pieces, listed,
                    piece_row, piece_begin, piece_end, offsets};
    take_rows(labels, rows, scratch);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    lp_finish(i64 count, const int* cut, const float* x, float* y, float* scratch, float alpha) {
    Labels labels{nullptr, nullptr, reinterpret_cast<const Four*>(x), reinterpret_cast<Four*>(y),
                  alpha};
    finish_rows(labels, count, cut, scratch);
}
