// Belief propagation by hand: messages, their product and the belief in one pass over the arcs.
//
// One potential for all edges, symmetric. With LOG, messages and beliefs are logarithms; without it
// no row is cut into pieces, whose parts are added.
struct Passing {
    const int* targets;
    const int* reverse;
    const float* psi;
    const Four* prior;
    const Four* belief;
    Four* next_belief;
    const Four* message;
    Four* next_message;
    float moved;
    struct Loaded {
        Four belief, back, old;
    };
    __device__ Loaded load(i64 slot) {
        const u32 lane = lane_in_group();
        return Loaded{belief[static_cast<i64>(targets[slot]) * lanes + lane],
                      message[static_cast<i64>(reverse[slot]) * lanes + lane],
                      message[slot * lanes + lane]};
    }
    __device__ Four nothing() {
#ifdef LOG
        return Four{{0, 0, 0, 0}};
#else
        return Four{{1, 1, 1, 1}};
#endif
    }
    __device__ void combine(Four& part, const Four& other) {
        for (u32 i = 0; i < 4; ++i) {
#ifdef LOG
            part.f[i] += other.f[i];
#else
            part.f[i] *= other.f[i];
#endif
        }
    }
    __device__ float most(const Four& x) {
        float best = x.f[0];
        for (u32 i = 1; i < 4; ++i) best = x.f[i] > best ? x.f[i] : best;
        return most_group(best);
    }
    __device__ Four over(const Four& x) {
        Four y{{0, 0, 0, 0}};
        const u32 first = lane_of() / lanes * lanes;
        for (u32 lane = 0; lane < lanes; ++lane) {
            for (u32 i = 0; i < 4; ++i) {
                float factor = x.f[i];
                if (lanes > 1) factor = __shfl_sync(group_mask(), factor, first + lane);
                const float* const row = psi + (lane * 4 + i) * K + lane_in_group() * 4;
                for (u32 j = 0; j < 4; ++j) y.f[j] += factor * row[j];
            }
        }
        return y;
    }
    __device__ void take(Four& part, i64 slot, const Loaded& loaded) {
        Four x, fresh;
#ifdef LOG
        for (u32 i = 0; i < 4; ++i) x.f[i] = loaded.belief.f[i] - loaded.back.f[i];
        const float top = most(x);
        for (u32 i = 0; i < 4; ++i) x.f[i] = expf(x.f[i] - top);
        fresh = over(x);
        for (u32 i = 0; i < 4; ++i) fresh.f[i] = logf(fresh.f[i]);
        const float largest = most(fresh);
        for (u32 i = 0; i < 4; ++i) fresh.f[i] -= largest;
#else
        for (u32 i = 0; i < 4; ++i) {
            const float back = loaded.back.f[i];
            x.f[i] = loaded.belief.f[i] * (back == 0 ? back : 1 / back);
        }
        fresh = over(x);
        const float largest = most(fresh);
        if (largest != 0) {
            for (u32 i = 0; i < 4; ++i) fresh.f[i] /= largest;
        }
#endif
        for (u32 i = 0; i < 4; ++i) {
#ifdef LOG
            const float change = expf(fresh.f[i]) - expf(loaded.old.f[i]);
#else
            const float change = fresh.f[i] - loaded.old.f[i];
#endif
            const float size = change < 0 ? -change : change;
            moved = size > moved ? size : moved;
        }
        next_message[slot * lanes + lane_in_group()] = fresh;
        combine(part, fresh);
    }
    __device__ void finish(i64 row, Four part) {
        combine(part, prior[row * lanes + lane_in_group()]);
#ifdef LOG
        const float top = most(part);
        float total = 0;
        for (u32 i = 0; i < 4; ++i) total += expf(part.f[i] - top);
        const float norm = top + logf(sum_group(total));
        for (u32 i = 0; i < 4; ++i) part.f[i] -= norm;
#else
        const float total = sum_group(part.f[0] + part.f[1] + part.f[2] + part.f[3]);
        if (total != 0) {
            for (u32 i = 0; i < 4; ++i) part.f[i] /= total;
        }
#endif
        next_belief[row * lanes + lane_in_group()] = part;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    bp(i64 num_short, i64 num_long, i64 num_pieces, const int* listed, const int* piece_row,
       const i64* piece_begin, const i64* piece_end, const i64* offsets, const int* targets,
       const int* reverse, const float* potential, const float* prior, const float* belief,
       float* next_belief, const float* message, float* next_message, float* scratch, u32* error) {
    SHARED(float, psi, K * K);
    for (u32 i = threadIdx.x; i < K * K; i += blockDim.x) psi[i] = potential[i];
    __syncthreads();
    Passing passing{targets, reverse, psi, reinterpret_cast<const Four*>(prior),
                    reinterpret_cast<const Four*>(belief), reinterpret_cast<Four*>(next_belief),
                    reinterpret_cast<const Four*>(message), reinterpret_cast<Four*>(next_message),
                    0};
    const Rows rows{num_short, num_long, num_pieces, listed,
                    piece_row, piece_begin, piece_end, offsets};
    take_rows(passing, rows, scratch);
    float moved = passing.moved;
    __syncwarp();
    for (u32 bits = 16; bits > 0; bits /= 2) {
        const float other = __shfl_xor_sync(full, moved, bits);
        moved = other > moved ? other : moved;
    }
    // Bits of floats that are not negative are in the order of the floats.
    if (lane_of() == 0) atomicMax(error, __float_as_uint(moved));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    bp_finish(i64 count, const int* cut, const float* prior, float* next_belief, float* scratch) {
    Passing passing{nullptr, nullptr, nullptr, reinterpret_cast<const Four*>(prior), nullptr,
                    reinterpret_cast<Four*>(next_belief), nullptr, nullptr, 0};
    finish_rows(passing, count, cut, scratch);
}
