// Counts triangles over a part of the oriented arcs, to check a count found in another way.
//
// Arc i, i = part, part + parts, ..., belongs to one warp: its lanes look up each target of the
// shorter of the two rows in the longer one by bisection. Rows are sorted. No barriers; one atomic
// addition per warp.
extern "C" __global__ void count_triangles(long long arcs, long long part, long long parts,
                                           const long long* __restrict__ offsets,
                                           const int* __restrict__ targets,
                                           const int* __restrict__ rows,
                                           unsigned long long* total) {
    const int lane = threadIdx.x % 32;
    const long long warp = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    const long long warps = static_cast<long long>(gridDim.x) * blockDim.x / 32;
    unsigned long long found = 0;
    for (long long arc = part + warp * parts; arc < arcs; arc += warps * parts) {
        const int u = rows[arc], v = targets[arc];
        long long short_begin = offsets[u], short_end = offsets[u + 1];
        long long long_begin = offsets[v], long_end = offsets[v + 1];
        if (short_end - short_begin > long_end - long_begin) {
            short_begin = offsets[v];
            short_end = offsets[v + 1];
            long_begin = offsets[u];
            long_end = offsets[u + 1];
        }
        for (long long slot = short_begin + lane; slot < short_end; slot += 32) {
            const int wanted = targets[slot];
            long long low = long_begin, high = long_end;
            while (low < high) {
                const long long middle = (low + high) / 2;
                if (targets[middle] < wanted) low = middle + 1;
                else high = middle;
            }
            found += low < long_end && targets[low] == wanted;
        }
    }
    for (int delta = 16; delta > 0; delta /= 2) {
        found += __shfl_down_sync(0xffffffffu, found, delta);
    }
    if (lane == 0 && found != 0) atomicAdd(total, found);
}
