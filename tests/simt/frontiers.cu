// Outputs of every make, fed from a list; the phases after them; conversions; far lists.
#include "waiting.cuh"

using namespace weft;

__device__ Place whole_grid(u64* cells) {
    return {block_id(), grid_size(), cells, nullptr, nullptr};
}

// What a launch lends to its outputs.
template <class Vertex>
struct Room {
    Vertex* queue;
    i64 capacity;
    u32* stamps;
    u32 epoch;
    u32* bitmap;
    u8* bytemap;
    u64* cells;
    u32 bin_size;

    template <class Out>
    __device__ Out output(unsigned char* shared) const {
        return {queue, capacity, stamps,   epoch, bitmap, bytemap,
                cells, shared,   bin_size, 4,     8,      16};
    }
};

struct Degrees {
    static constexpr bool counts = true;
    const i64* values;
    __device__ i64 operator()(i64 v) const { return values[v]; }
    __device__ void expect(i64) const {}
};

// Thread i emits the vertices i, i + threads, ...; -1 stands for none, so that warps diverge.
template <class Vertex, Kind kind, Compaction compaction, Dedup dedup, u32 classes>
__global__ void emit_all(const i64* emits, i64 size, const i64* degrees, Vertex* queue,
                         i64 capacity, u32* stamps, u32 epoch, u32* bitmap, u8* bytemap, u64* cells,
                         u32 bin_size, u64 shared_bytes) {
    WEFT_SHARED(unsigned char, shared);
    if (output_bytes(kind, compaction, dedup, classes, bin_size, block_size(), sizeof(Vertex)) !=
        shared_bytes) {
        trap();
    }
    using Out = Output<Vertex, kind, compaction, dedup, classes>;
    const Room<Vertex> room = {queue, capacity, stamps, epoch, bitmap, bytemap, cells, bin_size};
    Out output = room.template output<Out>(shared);
    output.begin();
    for (i64 i = global_id(); i < size; i += global_size()) {
        if (emits[i] >= 0) output.emit_lazily(emits[i], Degrees{degrees});
    }
    output.end(Degrees{degrees});
}

template <class Vertex>
__global__ void mark_all(const Vertex* queue, i64 capacity, u32 classes, const u64* before,
                         u32* stamps, u32 epoch) {
    for (u32 c = 0; c < classes; ++c) {
        const i64 tail = static_cast<i64>(before[TAIL + c]);
        mark_queue(whole_grid(nullptr), queue + c * capacity, tail < capacity ? tail : capacity,
                   stamps, epoch);
    }
}

template <class Vertex>
__global__ void filter_all(const Vertex* batch, i64 capacity, u32 classes, const u64* before,
                           const i64* degrees, Vertex* queue, i64 n, u32* stamps, u32 epoch,
                           u64* cells, u32 bin_size) {
    WEFT_SHARED(unsigned char, shared);
    using Out = Output<Vertex, Kind::queue, Compaction::online, Dedup::exact, 1>;
    const Room<Vertex> room = {queue, n, stamps, epoch, nullptr, nullptr, cells, bin_size};
    Out output = room.template output<Out>(shared);
    output.begin();
    for (u32 c = 0; c < classes; ++c) {
        const i64 tail = static_cast<i64>(before[TAIL + c]);
        filter_batch(whole_grid(cells), batch + c * capacity, tail < capacity ? tail : capacity,
                     Degrees{degrees}, output);
    }
    output.end(Degrees{degrees});
}

template <class Member>
struct Make;
template <>
struct Make<StampMember> {
    static __device__ StampMember of(const void* memory, u32 epoch) {
        return {static_cast<const u32*>(memory), epoch};
    }
};
template <>
struct Make<BitmapMember> {
    static __device__ BitmapMember of(const void* memory, u32) {
        return {static_cast<const u32*>(memory)};
    }
};
template <>
struct Make<BytemapMember> {
    static __device__ BytemapMember of(const void* memory, u32) {
        return {static_cast<const u8*>(memory)};
    }
};

template <class Member>
__global__ void count_all(i64 n, const void* memory, u32 epoch, u64* counts) {
    count_members(whole_grid(nullptr), n, Make<Member>::of(memory, epoch), counts);
}
template <class Vertex, class Member>
__global__ void write_all(i64 n, const void* memory, u32 epoch, const u64* counts, Vertex* queue,
                          const i64* degrees, u64* cells) {
    write_members(whole_grid(cells), n, Make<Member>::of(memory, epoch), counts, queue,
                  Degrees{degrees}, cells);
}

// Both phases in one launch, twice, with one barrier over all blocks after each phase.
__global__ void compact_together(i64 n, const u32* stamps, u64* counts, i32* first, i32* second,
                                 const i64* degrees, u64* cells, u32* barrier) {
    const Place place = whole_grid(nullptr);
    for (u32 round = 0; round < 2; ++round) {
        const StampMember member = {stamps, round + 1};
        u64* const own_counts = counts + round * grid_size();
        count_members(place, n, member, own_counts);
        sync_grid(barrier);
        write_members(place, n, member, own_counts, round == 0 ? first : second, Degrees{degrees},
                      cells + round * CELLS);
        sync_grid(barrier);
    }
}

template <class Vertex>
__global__ void clear_maps(u32* bitmap, u32* all, u8* bytemap, i64 n) {
    fill_bitmap(whole_grid(nullptr), bitmap, n);
    fill_bitmap(whole_grid(nullptr), all, n, true);
    clear_words(whole_grid(nullptr), bytemap, n);
}
template <class Vertex>
__global__ void convert_queue(const Vertex* queue, i64 size, u32* bitmap, u8* bytemap) {
    queue_to_bitmap(whole_grid(nullptr), queue, size, bitmap);
    queue_to_bytemap(whole_grid(nullptr), queue, size, bytemap);
}

template <class Vertex, bool unique>
__global__ void append_far(const i64* waiting, i64 size, Vertex* far, i64 capacity, u64* cells,
                           u32 bin_size, u32* stamps, u32 epoch) {
    WEFT_SHARED(unsigned char, shared);
    Far<Vertex, unique> list = {far, capacity, cells, shared, bin_size, stamps, epoch};
    list.begin();
    for (i64 i = global_id(); i < size; i += global_size()) {
        if (waiting[i] >= 0) list.append(waiting[i]);
    }
    list.end();
}

struct Priorities {
    const double* values;
    __device__ double operator()(i64 v) const { return values[v]; }
};

// Below `limit` is near, below zero is dropped.
struct Sides {
    double limit;
    __device__ Side operator()(i64, double value) const {
        return value < 0 ? Side::drop : value < limit ? Side::near : Side::far;
    }
};

template <class Vertex, bool unique>
__global__ void split_all(const Vertex* from, const u64* before, i64 capacity,
                          const double* priorities, double limit, const i64* degrees,
                          Vertex* queue, i64 n, u32* stamps, u32 epoch, Vertex* far, u64* cells,
                          u32 bin_size, u32* far_stamps, double* least, double* sum) {
    WEFT_SHARED(unsigned char, shared);
    // What a list holds once needs no second look.
    constexpr Dedup dedup = unique ? Dedup::proven : Dedup::exact;
    Output<Vertex, Kind::queue, Compaction::online, dedup, 1> near = {
        queue, n, stamps, epoch, nullptr, nullptr, cells, shared, bin_size, 4, 8, 16};
    unsigned char* const rest =
        shared + output_bytes(Kind::queue, Compaction::online, dedup, 1, bin_size, block_size(),
                              sizeof(Vertex));
    Far<Vertex, unique> kept = {far, capacity, cells, rest, bin_size, far_stamps, epoch};
    near.begin();
    kept.begin();
    const i64 tail = static_cast<i64>(before[FAR]);
    split_far(whole_grid(cells), from, tail < capacity ? tail : capacity, Priorities{priorities},
              Sides{limit}, Degrees{degrees}, near, kept, least, sum);
    near.end(Degrees{degrees});
    kept.end();
}
