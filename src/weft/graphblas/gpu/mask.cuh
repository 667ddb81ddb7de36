// What a mask admits, place by place, and maps of which places have a value.
#ifndef WEFT_GRAPHBLAS_MASK_CUH
#define WEFT_GRAPHBLAS_MASK_CUH

namespace weft {

// Which maps are left out since they hold everywhere, how values meet, and what a mask means.
enum PlaceFlags : i64 {
    x_full = 1, y_full = 2, unites = 8, masked = 16, mask_full = 32, by_structure = 64,
    complemented = 128, replaces = 256, out_full = 512, x_none = 1024
};

WEFT_DEVICE bool is_there(const u8* there, i64 i, i64 flags, i64 full) {
    return (flags & full) != 0 || there[i] != 0;
}

// The places that a mask admits; all without one.
template <class T>
struct Mask {
    const T* values;
    const u8* there;
    i64 flags;

    WEFT_DEVICE bool admits(i64 i) const {
        if ((flags & masked) == 0) return true;
        bool named = is_there(there, i, flags, mask_full);
        if ((flags & by_structure) == 0) named = named && values[i] != 0;
        return named != ((flags & complemented) != 0);
    }
};

// Add up how many places have a value; every thread of the grid takes part.
WEFT_DEVICE void count_there(u32 mine, i64* count) {
    mine = reduce_add(full_mask, mine);
    if (lane_id() == 0 && mine != 0) atomic_add(count, static_cast<i64>(mine));
}

}  // namespace weft

#endif
