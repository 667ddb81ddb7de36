// Vertices that wait: the far side of ordered relaxation.
//
// What is not due yet is appended to a list; when nothing is near any more, split_far goes over the
// list with a new threshold and sends each vertex near, keeps it far or drops it.
#ifndef WEFT_WAITING_CUH
#define WEFT_WAITING_CUH

#include "compact.cuh"

namespace weft {

// Bytes of shared memory of a Far: count and first place of its bin, and the bin.
WEFT_DEVICE constexpr u64 far_bytes(u32 bin_size, u32 vertex_bytes) {
    return 16 + whole_units(static_cast<u64>(bin_size) * vertex_bytes);
}

// A list with a bin in shared memory, as an online output has; begin, append and end are called as
// there. If `unique`, a stamp per vertex keeps it from being in the list twice: who takes it out
// takes the stamp away, or a new list has another epoch. Entries without a place set OVERFLOW and are lost: cells[FAR] > capacity tells it.
template <class Vertex, bool unique = false>
struct Far {
    Vertex* far;
    i64 capacity;
    u64* cells;             // FAR counts the entries
    unsigned char* shared;  // far_bytes(...) bytes, 16-byte aligned
    u32 bin_size;
    u32* stamps = nullptr;  // if unique
    u32 epoch = 0;

    WEFT_DEVICE void begin() {
        if (thread_id() == 0) *count() = 0;
        sync_block();
    }

    // Returns whether v was not in the list, as far as that is looked at.
    WEFT_DEVICE bool append(i64 v) {
        if constexpr (unique) {
            if (load_relaxed(stamps + v) == epoch) return false;
            if (atomic_exch(stamps + v, epoch) == epoch) return false;
        }
        const u32 place = place_in_bin(count(), active_mask());
        if (place < bin_size) {
            bin()[place] = static_cast<Vertex>(v);
        } else {
            list().append(v, active_mask());
        }
        return true;
    }

    WEFT_DEVICE void end() {
        sync_block();
        const u32 held = held_in_bin(*count(), bin_size);
        if (held == 0) return;  // the same for the whole block
        if (thread_id() == 0) *first() = atomic_add(cells + FAR, held);
        sync_block();
        const u64 place = *first();
        for (u32 i = thread_id(); i < held; i += block_size()) list().put(place + i, bin()[i]);
    }

 private:
    WEFT_DEVICE u32* count() const { return reinterpret_cast<u32*>(shared); }
    WEFT_DEVICE u64* first() const { return reinterpret_cast<u64*>(shared + 8); }
    WEFT_DEVICE Vertex* bin() const { return reinterpret_cast<Vertex*>(shared + 16); }
    WEFT_DEVICE List<Vertex> list() const {
        return {far, capacity, cells + FAR, cells + OVERFLOW};
    }
};

enum class Side : u32 { drop, near, far };

WEFT_DEVICE double positive_infinity() {
    union {
        u64 bits;
        double value;
    } word;
    word.bits = 0x7ff0000000000000u;
    return word.value;
}

// Send each vertex of a far list where it belongs, between begin and end of `near` and `kept`:
// side_of(v, priority(v)) is a Side. Of the priorities that stay far, *least is lowered to the
// least; sum[0] is raised by the sum of the finite ones and sum[1] by their number. A list is
// anything that has elements.
template <class List, class Priority, class SideOf, class DegreeOf, class Near, class Kept>
WEFT_DEVICE void split_far(const Place& place, const List& list, i64 size,
                           const Priority& priority, const SideOf& side_of,
                           const DegreeOf& degree_of, Near& near, Kept& kept, double* least,
                           double* sum) {
    double my_least = positive_infinity();
    double my_sum = 0;
    double my_count = 0;
    bool any_kept = false;
    for_all(place, size, [&](i64 i) {
        const i64 v = list[i];
        const double value = priority(v);
        const Side side = side_of(v, value);
        if (side == Side::near) {
            near.emit_lazily(v, degree_of);
        } else if (side == Side::far && kept.append(v)) {
            my_least = Min()(my_least, value);
            if (value - value == 0) {
                my_sum += value;
                my_count += 1;
            }
            any_kept = true;
        }
    });
    if (!sync_block_or(any_kept)) return;
    my_least = reduce_block(my_least, Min());
    my_sum = reduce_block(my_sum, Add());
    my_count = reduce_block(my_count, Add());
    if (thread_id() == 0) {
        atomic_min(least, my_least);
        atomic_add(sum, my_sum);
        atomic_add(sum + 1, my_count);
    }
}

}  // namespace weft

#endif
