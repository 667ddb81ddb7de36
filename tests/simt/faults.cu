// Faults planted on purpose, each beside its clean twin. The lines that a report may name are
// marked.
#include "device.cuh"

using namespace weft;

// The same value is written again, so every result is right.
template <bool planted>
__global__ void reuse_shared(const i32* in, i32* out) {
    WEFT_SHARED(i32, box, 1);
    for (u32 round = 0; round < 2; ++round) {
        if (thread_id() == 0) box[0] = in[0];  // reports reuse_shared
        sync_block();
        out[thread_id()] = box[0];  // reports reuse_shared
        if constexpr (!planted) sync_block();
    }
}

template <bool planted>
__global__ void missing_sync_warp(const i32* in, i32* out) {
    WEFT_SHARED(i32, boxes, 64);
    const u32 t = thread_id();
    boxes[t] = in[t];  // reports missing_sync_warp
    if constexpr (!planted) sync_warp(full_mask);
    const i32 near = shuffle(full_mask, in[t], lane_id() ^ 1);
    out[t] = boxes[t ^ 1] == near ? near : -1;  // reports missing_sync_warp
}

template <bool planted>
__global__ void unfenced_flag(const i32* in, i32* out, i32* data, u32* flag) {
    if (thread_id() != 0) return;
    if (block_id() == 0) {
        data[0] = in[0];  // reports unfenced_flag
        if constexpr (!planted) fence_device();
        store_relaxed(flag, 1u);
    } else {
        spin_wait([=] { return load_relaxed(flag) == 1; });
        fence_device();
        out[0] = data[0];  // reports unfenced_flag
    }
}

template <bool planted>
__global__ void unfenced_reader(const i32* in, i32* out, i32* data, u32* flag) {
    if (thread_id() != 0) return;
    if (block_id() == 0) {
        data[0] = in[0];  // reports unfenced_reader
        fence_device();
        store_relaxed(flag, 1u);
    } else {
        spin_wait([=] { return load_relaxed(flag) == 1; });
        if constexpr (!planted) fence_device();
        out[0] = data[0];  // reports unfenced_reader
    }
}

// The fence comes before what it should publish.
template <bool planted>
__global__ void early_fence(const i32* in, i32* out, i32* data, u32* flag) {
    if (thread_id() != 0) return;
    if (block_id() == 0) {
        if constexpr (planted) fence_device();
        data[0] = in[0];  // reports early_fence
        if constexpr (!planted) fence_device();
        store_relaxed(flag, 1u);
    } else {
        spin_wait([=] { return load_relaxed(flag) == 1; });
        fence_device();
        out[0] = data[0];  // reports early_fence
    }
}

// A fence for the block where one for the device is needed.
template <bool planted>
__global__ void narrow_fence(const i32* in, i32* out, i32* data, u32* flag) {
    if (thread_id() != 0) return;
    if (block_id() == 0) {
        data[0] = in[0];  // reports narrow_fence
        if constexpr (planted) fence_block();
        if constexpr (!planted) fence_device();
        store_relaxed(flag, 1u);
    } else {
        spin_wait([=] { return load_relaxed(flag) == 1; });
        fence_device();
        out[0] = data[0];  // reports narrow_fence
    }
}

template <bool planted>
__global__ void missing_sync_grid(const i32* in, i32* out, i32* data, u32* barrier) {
    const i64 i = global_id();
    data[i] = in[thread_id()];  // reports missing_sync_grid
    if constexpr (planted) sync_block();
    if constexpr (!planted) sync_grid(barrier);
    if (block_id() == 0) out[thread_id()] = data[block_size() + i];  // reports missing_sync_grid
}

// All threads write the same value: harmless perhaps, but a race unless it is said.
template <bool planted>
__global__ void same_value(const i32* in, i32* out) {
    if constexpr (planted) {
        out[0] = in[0];  // reports same_value
    } else {
        store_relaxed(&out[0], in[0]);
    }
}

template <bool planted>
__global__ void global_bounds(const i32* in, i32* out) {
    const u32 t = thread_id();
    out[t] = in[t + planted];  // reports global_bounds
}

template <bool planted>
__global__ void atomic_bounds(const i32* in, i32* out) {
    atomic_add(&out[thread_id() + planted], in[thread_id()]);  // reports atomic_bounds
}

template <bool planted>
__global__ void shared_bounds(const i32* in, i32* out) {
    WEFT_SHARED(i32, boxes, 64);
    const u32 t = thread_id();
    i32* slots = boxes;
    slots[t + planted] = in[t];  // reports shared_bounds
    sync_block();
    out[t] = slots[t];
}

template <bool planted>
__global__ void array_bounds(const i32* in, i32* out) {
    WEFT_SHARED(i32, boxes, 64);
    const u32 t = thread_id();
    boxes[t + planted] = in[t];  // reports array_bounds
    sync_block();
    out[t] = boxes[t];
}

template <bool planted>
__global__ void dynamic_bounds(const i32* in, i32* out) {
    WEFT_SHARED(i32, slots);
    const u32 t = thread_id();
    slots[t + planted] = in[t];  // reports dynamic_bounds
    sync_block();
    out[t] = slots[t];
}

template <bool planted>
__global__ void signed_overflow(const i32* in, i32* out) {
    const i32 large = 0x7fffffff - static_cast<i32>(thread_id());
    out[thread_id()] = planted ? large + in[63] : large - in[63];  // reports signed_overflow
}

template <bool planted>
__global__ void skipped_barrier(const i32* in, i32* out) {
    if (!planted || thread_id() < 32) {
        sync_block();  // reports skipped_barrier
    }
    out[thread_id()] = in[thread_id()];
}

template <bool planted>
__global__ void divergent_barrier(const i32* in, i32* out) {
    if (planted && thread_id() < 32) {
        sync_block();  // reports divergent_barrier
    } else {
        sync_block();  // reports divergent_barrier
    }
    out[thread_id()] = in[thread_id()];
}

template <bool planted>
__global__ void exited_lane(const i32* in, i32* out) {
    out[thread_id()] = in[thread_id()];
    if (lane_id() >= 16) return;
    const u32 mask = planted ? full_mask : 0x0000ffffu;
    out[thread_id()] = shuffle(mask, in[thread_id()], lane_id());  // reports exited_lane
}

template <bool planted>
__global__ void missing_caller(const i32* in, i32* out) {
    out[thread_id()] = in[thread_id()];
    const u32 mask = planted ? 0x0000ffffu : full_mask;
    if (!any(mask, true)) out[thread_id()] = 0;  // reports missing_caller
}

template <bool planted>
__global__ void divergent_masks(const i32* in, i32* out) {
    const u32 mask = planted && lane_id() >= 16 ? 0xfffffffeu : full_mask;
    out[thread_id()] = shuffle(mask, in[thread_id()], lane_id());  // reports divergent_masks
}

// One half of each warp waits for the block, the other half for the warp.
template <bool planted>
__global__ void crossed_waits(const i32* in, i32* out) {
    if (!planted || lane_id() < 16) sync_block();  // reports crossed_waits
    sync_warp(full_mask);                          // reports crossed_waits
    if (planted && lane_id() >= 16) sync_block();  // reports crossed_waits
    out[thread_id()] = in[thread_id()];
}

template <bool planted>
__global__ void endless_spin(const i32* in, i32* out, i32* data, u32* flag) {
    if (!planted && global_id() == 0) store_relaxed(flag, 1u);
    spin_wait([=] { return load_relaxed(flag) == 1; });  // reports endless_spin
    if (block_id() == 0) out[thread_id()] = in[thread_id()];
}

template <bool planted>
__global__ void misaligned_word(const i32* in, i32* out) {
    char* bytes = reinterpret_cast<char*>(out + thread_id() / 2 * 2);
    if (thread_id() % 2 == 0) {
        i32* word = reinterpret_cast<i32*>(bytes + 2 * planted);
        store_relaxed(word, in[thread_id()]);  // reports misaligned_word
    }
}

// A block leaves while the other may still read its shared memory.
template <bool planted>
__global__ void left_cluster(const i32* in, i32* out) {
    WEFT_SHARED(i32, boxes, 64);
    const u32 t = thread_id();
    boxes[t] = in[t];
    i32* first = cluster_pointer(&boxes[0], 0);
    sync_cluster();
    if (cluster_rank() == 1) out[t] = first[t];  // reports left_cluster
    if constexpr (!planted) sync_cluster();
}

template <bool planted>
__global__ void trapped(const i32* in, i32* out) {
    if (planted && thread_id() == 33) trap();  // reports trapped
    out[thread_id()] = in[thread_id()];
}
