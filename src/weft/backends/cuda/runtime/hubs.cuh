// Values of vertices by place, the first of which each block keeps in shared memory.
//
// Places are numbered by how many arcs name a vertex (weft.topology.hub_places), so that a small
// table answers most reads. Every thread of a block calls `keep` for each array, then all of them
// meet before the first `at`. Tables lie one after the other, those of wider values first; `before` is
// the bytes of a vertex in those that come before.
#ifndef WEFT_HUBS_CUH
#define WEFT_HUBS_CUH

#include "device.cuh"

namespace weft {

struct HubTable {
    unsigned char* kept;
    u32 count;  // of vertices in the table

    template <u32 before, class T>
    WEFT_DEVICE T* table() const {
        return reinterpret_cast<T*>(kept + static_cast<u64>(before) * count);
    }
    template <u32 before, class T>
    WEFT_DEVICE void keep(const T* values) const {
        T* const own = table<before, T>();
        WEFT_UNROLL(4)
        for (u32 i = thread_id(); i < count; i += block_size()) own[i] = values[i];
    }
    template <u32 before, class T>
    WEFT_DEVICE T at(const T* values, i64 place) const {
        return place < static_cast<i64>(count) ? table<before, T>()[place] : values[place];
    }
};

}  // namespace weft

#endif
