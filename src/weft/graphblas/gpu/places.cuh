// Operations on vectors place by place: an array of values with a map of which are there.
//
// What is put in front: X, Y, Z and M, the types of values, with XStored, ... those of arrays; and
// both(x, y), left_alone(x), right_alone(y). A thread takes one place after another.
#ifndef WEFT_GRAPHBLAS_PLACES_CUH
#define WEFT_GRAPHBLAS_PLACES_CUH

namespace weft {

// Which maps are left out since they hold everywhere, and how values meet.
enum PlaceFlags : i64 {
    x_full = 1, y_full = 2, y_one = 4, unites = 8,
    masked = 16, mask_full = 32, by_structure = 64, complemented = 128, replaces = 256
};

WEFT_DEVICE bool is_there(const u8* there, i64 i, i64 flags, i64 full) {
    return (flags & full) != 0 || there[i] != 0;
}

// Add up how many places have a value.
WEFT_DEVICE void count_there(u32 mine, i64* count) {
    mine = reduce_add(full_mask, mine);
    if (lane_id() == 0 && mine != 0) atomic_add(count, static_cast<i64>(mine));
}

}  // namespace weft

// Values that both have, combined; with `unites` also those that one has alone. With `y_one` the
// right operand is one value.
extern "C" __global__ void WEFT_BOUNDS(256, 4) combine_places(
    const weft::XStored* x, const weft::u8* x_there, const weft::YStored* y,
    const weft::u8* y_there, weft::ZStored* out, weft::u8* out_there, weft::i64* count,
    weft::i64 size, weft::i64 flags) {
    using namespace weft;
    u32 found = 0;
    for (i64 i = global_id(); i < size; i += global_size()) {
        const bool mine = is_there(x_there, i, flags, x_full);
        const bool theirs = is_there(y_there, i, flags, y_full | y_one);
        const bool there = (flags & unites) != 0 ? mine || theirs : mine && theirs;
        if (there) {
            const X left = static_cast<X>(x[i]);
            const Y right = static_cast<Y>(y[(flags & y_one) != 0 ? 0 : i]);
            out[i] = static_cast<ZStored>(mine && theirs ? both(left, right)
                                          : mine         ? left_alone(left)
                                                         : right_alone(right));
        }
        out_there[i] = there;
        found += there;
    }
    count_there(found, count);
}

// Write y into x through a mask: x is the target before, both(x, y) what it becomes where both have
// values; right_alone and left_alone convert a value that stands alone. Without an accumulator
// both(x, y) is y.
extern "C" __global__ void WEFT_BOUNDS(256, 4) write_places(
    const weft::XStored* x, const weft::u8* x_there, const weft::YStored* y,
    const weft::u8* y_there, const weft::MStored* mask, const weft::u8* mask_there,
    weft::ZStored* out, weft::u8* out_there, weft::i64* count, weft::i64 size, weft::i64 flags) {
    using namespace weft;
    u32 found = 0;
    for (i64 i = global_id(); i < size; i += global_size()) {
        const bool mine = is_there(x_there, i, flags, x_full);
        bool admitted = true;
        if ((flags & masked) != 0) {
            admitted = is_there(mask_there, i, flags, mask_full);
            if ((flags & by_structure) == 0) admitted = admitted && mask[i] != 0;
            if ((flags & complemented) != 0) admitted = !admitted;
        }
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
        out_there[i] = theirs || kept;
        found += theirs || kept;
    }
    count_there(found, count);
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
