// One kernel per family of primitives: each thread writes what it got.
#include "device.cuh"

using namespace weft;

__global__ void indices(u32* out, i64* global) {
    const u32 values[] = {thread_id(), block_id(), block_size(),  grid_size(),
                          lane_id(),   warp_id(),  lanes_below(), static_cast<u32>(global_size())};
    for (u32 i = 0; i < 8; ++i) out[global_id() * 8 + i] = values[i];
    global[global_id()] = global_id();
}

template <class T>
__global__ void shuffles(const T* in, T* out, u32 operand, u32 width) {
    const u32 t = thread_id();
    const u32 n = block_size();
    out[t] = shuffle(full_mask, in[t], operand + t, width);
    out[n + t] = shuffle_up(full_mask, in[t], operand, width);
    out[2 * n + t] = shuffle_down(full_mask, in[t], operand, width);
    out[3 * n + t] = shuffle_xor(full_mask, in[t], operand, width);
}

template <class T>
__global__ void votes(const T* in, u32* out, u32 mask) {
    const u32 t = thread_id();
    if (!(mask >> lane_id() & 1)) return;
    const bool odd = static_cast<i64>(in[t]) % 2 != 0;
    out[5 * t] = ballot(mask, odd);
    out[5 * t + 1] = any(mask, odd);
    out[5 * t + 2] = all(mask, odd);
    out[5 * t + 3] = match_any(mask, in[t]);
    out[5 * t + 4] = shuffle(mask, t, ffs(mask) - 1);
}

template <class T>
__global__ void reduces(const T* in, T* out, u32 mask) {
    const u32 t = thread_id();
    if (!(mask >> lane_id() & 1)) return;
    out[3 * t] = reduce_add(mask, in[t]);
    out[3 * t + 1] = reduce_min(mask, in[t]);
    out[3 * t + 2] = reduce_max(mask, in[t]);
}

template <class T>
__global__ void bit_reduces(const T* in, T* out, u32 mask) {
    const u32 t = thread_id();
    if (!(mask >> lane_id() & 1)) return;
    out[2 * t] = reduce_or(mask, in[t]);
    out[2 * t + 1] = reduce_and(mask, in[t]);
}

// words: add, min, max, or, and, xor, exch, and a counter that is raised by compare-and-swap.
template <class T>
__global__ void atomics(const T* in, T* words, T* exchanged) {
    const T value = in[global_id()];
    atomic_add(&words[0], value);
    atomic_min(&words[1], value);
    atomic_max(&words[2], value);
    atomic_or(&words[3], value);
    atomic_and(&words[4], value);
    atomic_xor(&words[5], value);
    exchanged[global_id()] = atomic_exch(&words[6], value);
    T seen = load_relaxed(&words[7]);
    while (true) {
        const T found = atomic_cas(&words[7], seen, seen + 1);
        if (found == seen) break;
        seen = found;
    }
}

template <class T>
__global__ void float_atomics(const T* in, T* words) {
    const T value = in[global_id()];
    if (value == value) atomic_add(&words[0], value);
    atomic_min(&words[1], value);
    atomic_max(&words[2], value);
}

template <class T>
__global__ void accesses(const T* in, T* scratch, T* out) {
    const u32 t = thread_id();
    const u32 n = block_size();
    const u32 next = (t + 1) % n;
    store_relaxed(&scratch[t], load_relaxed(&in[t]));
    store_volatile(&scratch[n + t], load_volatile(&in[t]));
    store_release(&scratch[2 * n + t], load_acquire(&in[t]));
    sync_block();
    out[t] = load_relaxed(&scratch[next]);
    out[n + t] = load_volatile(&scratch[n + next]);
    out[2 * n + t] = load_acquire(&scratch[2 * n + next]);
}

__global__ void block_votes(const i32* in, u32* out) {
    const u32 t = thread_id();
    for (i32 limit = 0; limit < 4; ++limit) {
        out[(limit * block_size() + t) * 3] = sync_block_or(in[t] < limit);
        out[(limit * block_size() + t) * 3 + 1] = sync_block_and(in[t] < limit);
        out[(limit * block_size() + t) * 3 + 2] = sync_block_count(in[t] < limit);
    }
}

__global__ void bit_counts(const u64* in, u32* out) {
    const u32 t = thread_id();
    const u64 wide = in[t];
    const u32 narrow = static_cast<u32>(wide);
    const u32 values[] = {popcount(wide),   clz(wide),   ffs(wide),
                          popcount(narrow), clz(narrow), ffs(narrow)};
    for (u32 i = 0; i < 6; ++i) out[6 * t + i] = values[i];
}

// Lanes that are here together elect a leader, which counts for all of them.
__global__ void active_lanes(u32* count, u32* masks, u32* order) {
    const u32 mask = active_mask();
    masks[thread_id()] = mask;
    const u32 leader = ffs(mask) - 1;
    u32 first = 0;
    if (lane_id() == leader) first = atomic_add(count, popcount(mask));
    order[thread_id()] = shuffle(mask, first, leader) + popcount(mask & lanes_below());
}

__global__ void clock_and_fault(u32* advanced, u32* word) {
    const u64 before = clock_ticks();
    sync_block();
    advanced[thread_id()] = clock_ticks() > before;
    if (thread_id() % 2 == 1) fault(word, thread_id());
}

// A message from block 0 to block 1 in plain memory, announced in three ways.
__global__ void messages(i32* data, u32* flags, i32* out) {
    if (thread_id() != 0) return;
    if (block_id() == 0) {
        data[0] = 10;
        store_release(&flags[0], 1u);
        data[1] = 11;
        fence_device();
        store_relaxed(&flags[1], 1u);
        data[2] = 12;
        fence_device();
        atomic_add(&flags[2], 1u);
    } else {
        spin_wait([=] { return load_acquire(&flags[0]) == 1; });
        out[0] = data[0];
        spin_wait([=] { return load_relaxed(&flags[1]) == 1; });
        fence_device();
        out[1] = data[1];
        spin_wait([=] { return atomic_add(&flags[2], 0u) == 1; });
        fence_device();
        out[2] = data[2];
    }
}

// The same inside a block, through shared memory.
__global__ void block_messages(i32* out) {
    WEFT_SHARED(i32, data, 1);
    WEFT_SHARED(u32, flag, 1);
    if (thread_id() == 0) flag[0] = 0;
    sync_block();
    if (thread_id() == block_size() - 1) {
        data[0] = 42;
        fence_block();
        store_relaxed(&flag[0], 1u);
    } else if (thread_id() == 0) {
        spin_wait([=] { return load_relaxed(&flag[0]) == 1; });
        fence_block();
        out[0] = data[0];
    }
}
