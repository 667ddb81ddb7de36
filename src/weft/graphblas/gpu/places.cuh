// Operations on vectors place by place: an array of values with a map of which are there.
//
// What is put in front: X, Y, Z and M, the types of values, with XStored, ... those of arrays; and
// both(x, y), left_alone(x), right_alone(y). A thread takes one place after another.
#ifndef WEFT_GRAPHBLAS_PLACES_CUH
#define WEFT_GRAPHBLAS_PLACES_CUH

#include "mask.cuh"

namespace weft {

// A value that came as the lowest bytes of a word.
template <class T>
WEFT_DEVICE T from_bits(i64 bits) {
    if constexpr (sizeof(T) == 8) return same_bits<T>(bits);
    else if constexpr (sizeof(T) == 4) return same_bits<T>(static_cast<i32>(bits));
    else return static_cast<T>(bits);
}

}  // namespace weft

// Values that both have, combined; with `unites` also those that one has alone.
extern "C" __global__ void WEFT_BOUNDS(256, 4) combine_places(
    const weft::XStored* x, const weft::u8* x_there, const weft::YStored* y,
    const weft::u8* y_there, weft::ZStored* out, weft::u8* out_there, weft::i64* count,
    weft::i64 size, weft::i64 flags) {
    using namespace weft;
    u32 found = 0;
    for (i64 i = global_id(); i < size; i += global_size()) {
        const bool mine = is_there(x_there, i, flags, x_full);
        const bool theirs = is_there(y_there, i, flags, y_full);
        const bool there = (flags & unites) != 0 ? mine || theirs : mine && theirs;
        if (there) {
            const X left = static_cast<X>(x[i]);
            const Y right = static_cast<Y>(y[i]);
            out[i] = static_cast<ZStored>(mine && theirs ? both(left, right)
                                          : mine         ? left_alone(left)
                                                         : right_alone(right));
        }
        if ((flags & out_full) != 0) continue;
        out_there[i] = there;
        found += there;
    }
    if ((flags & out_full) == 0) count_there(found, count);
}

// Values combined with one value, of which `bits` are the lowest.
extern "C" __global__ void WEFT_BOUNDS(256, 4) bind_places(
    const weft::XStored* x, const weft::u8* x_there, weft::ZStored* out, weft::u8* out_there,
    weft::i64* count, weft::i64 size, weft::i64 bits, weft::i64 flags) {
    using namespace weft;
    const Y one = static_cast<Y>(from_bits<YStored>(bits));
    u32 found = 0;
    for (i64 i = global_id(); i < size; i += global_size()) {
        const bool there = is_there(x_there, i, flags, x_full);
        if (there) out[i] = static_cast<ZStored>(both(static_cast<X>(x[i]), one));
        if ((flags & out_full) != 0) continue;
        out_there[i] = there;
        found += there;
    }
    if ((flags & out_full) == 0) count_there(found, count);
}

// Write y into x through a mask: x is the target before, both(x, y) what it becomes where both have
// values; right_alone and left_alone convert a value that stands alone. Without an accumulator
// both(x, y) is y.
extern "C" __global__ void WEFT_BOUNDS(256, 4) write_places(
    const weft::XStored* x, const weft::u8* x_there, const weft::YStored* y,
    const weft::u8* y_there, const weft::MStored* mask, const weft::u8* mask_there,
    weft::ZStored* out, weft::u8* out_there, weft::i64* count, weft::i64 size, weft::i64 flags) {
    using namespace weft;
    const Mask<MStored> view{mask, mask_there, flags};
    u32 found = 0;
    for (i64 i = global_id(); i < size; i += global_size()) {
        const bool mine = (flags & x_none) == 0 && is_there(x_there, i, flags, x_full);
        const bool admitted = view.admits(i);
        const bool theirs = admitted && is_there(y_there, i, flags, y_full);
        // Inside of the mask the target keeps its value with an accumulator alone.
        const bool kept = mine && (admitted ? (flags & unites) != 0 : (flags & replaces) == 0);
        if (theirs || kept) {
            const X left = static_cast<X>(x[i]);
            const Y right = static_cast<Y>(y[i]);
            out[i] = static_cast<ZStored>(theirs && kept ? both(left, right)
                                          : theirs       ? right_alone(right)
                                                         : left_alone(left));
        }
        if ((flags & out_full) != 0) continue;
        out_there[i] = theirs || kept;
        found += theirs || kept;
    }
    if ((flags & out_full) == 0) count_there(found, count);
}

// Sums of the values, one for each thread of a grid, and whether it has any.
extern "C" __global__ void WEFT_BOUNDS(256, 4) sum_places(
    const weft::XStored* x, const weft::u8* x_there, weft::XStored* out, weft::u8* out_there,
    weft::i64 size, weft::i64 flags) {
    using namespace weft;
    X sum = {};
    bool some = false;
    for (i64 i = global_id(); i < size; i += global_size()) {
        if (!is_there(x_there, i, flags, x_full)) continue;
        const X value = static_cast<X>(x[i]);
        sum = some ? static_cast<X>(both(sum, value)) : value;
        some = true;
    }
    out[global_id()] = static_cast<XStored>(sum);
    out_there[global_id()] = some;
}

#endif
