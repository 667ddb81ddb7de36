// Pulls: a matrix times a vector, summed up along rows.
//
// `pull_lanes` lanes take a row. Rows longer than that pays are cut into parts, whose sums are joined
// afterwards.
//
// What is put in front beside what vectors.cuh needs: pull_lanes; and is_end(sum), if no product
// changes a sum any more, where `ends` holds.
#ifndef WEFT_GRAPHBLAS_PULLS_CUH
#define WEFT_GRAPHBLAS_PULLS_CUH

#include "vectors.cuh"

namespace weft {

// Entries that a lane loads before it uses the first.
constexpr u32 ahead = 4;

// The matrix and the vector, by rows of the matrix as it lies in memory.
struct Operands {
    const i64* offsets;
    const i32* cols;
    const CellStored* cells;
    const GivenStored* x;
    const u8* x_there;
    i64 flags;

    WEFT_DEVICE bool has(i64 i) const { return is_there(x_there, i, flags, x_full); }
};

// A sum of some products.
struct Part {
    Sum sum;
    bool some;

    WEFT_DEVICE void take(Sum made) {
        sum = some ? sum_of(sum, made) : made;
        some = true;
    }
    WEFT_DEVICE bool has_ended() const { return ends && some && is_end(sum); }

    // Join the parts of a group; its first lane has the sum then.
    template <u32 lanes>
    WEFT_DEVICE void join() {
        WEFT_UNROLL(5)
        for (u32 step = lanes / 2; step > 0; step /= 2) {
            const u32 from = (Group<lanes>::lane() + step) % lanes;
            const Sum other = shuffle_any(Group<lanes>::mask(), sum, from, lanes);
            const bool has = shuffle(Group<lanes>::mask(), u32(some), from, lanes) != 0;
            if (has && Group<lanes>::lane() < step) take(other);
        }
    }
};

// Sum up some entries of a row, by the lanes of a group.
template <u32 lanes>
WEFT_DEVICE Part pulled(const Operands& given, i64 begin, i64 end) {
    Part part{Sum(), false};
    for (i64 base = begin; base < end; base += lanes * ahead) {
        const i64 first = base + Group<lanes>::lane();
        i32 k[ahead];
        bool there[ahead];
        GivenStored x[ahead];
        WEFT_UNROLL(4)
        for (u32 i = 0; i < ahead; ++i) {
            there[i] = first + i * lanes < end;
            k[i] = there[i] ? load_constant(given.cols + first + i * lanes) : 0;
        }
        WEFT_UNROLL(4)
        for (u32 i = 0; i < ahead; ++i) there[i] = there[i] && given.has(k[i]);
        WEFT_UNROLL(4)
        for (u32 i = 0; i < ahead; ++i) x[i] = there[i] ? given.x[k[i]] : GivenStored();
        WEFT_UNROLL(4)
        for (u32 i = 0; i < ahead; ++i) {
            if (there[i]) part.take(made_of(given.cells[first + i * lanes], x[i]));
        }
        if (ends && any(Group<lanes>::mask(), part.has_ended())) break;
    }
    part.join<lanes>();
    return part;
}

struct PulledInto {
    SumStored* out;
    u8* there;
    i64 flags;
    u32 found;

    WEFT_DEVICE void put(i64 row, const Part& part) {
        if (part.some) out[row] = static_cast<SumStored>(part.sum);
        if ((flags & out_full) != 0) return;
        there[row] = part.some;
        found += part.some;
    }
};

using PullLanes = Group<pull_lanes>;

}  // namespace weft

// Rows up to `longest` entries: a group for each. Those that the mask leaves out get no value.
extern "C" __global__ void WEFT_BOUNDS(256, 4) pull_rows(
    const weft::i64* offsets, const weft::i32* cols, const weft::CellStored* cells, const weft::GivenStored* x,
    const weft::u8* x_there, const weft::MStored* mask, const weft::u8* mask_there,
    weft::SumStored* out, weft::u8* there, weft::i64* count, weft::i64 num_rows, weft::i64 longest,
    weft::i64 flags) {
    using namespace weft;
    const Operands given{offsets, cols, cells, x, x_there, flags};
    const Mask<MStored> admitted{mask, mask_there, flags};
    PulledInto result{out, there, flags, 0};
    const i64 groups = global_size() / pull_lanes;
    for (i64 row = global_id() / pull_lanes; row < num_rows; row += groups) {
        const i64 begin = offsets[row], end = offsets[row + 1];
        if (end - begin > longest) continue;
        Part part{Sum(), false};
        if (begin < end && admitted.admits(row)) part = pulled<pull_lanes>(given, begin, end);
        if (PullLanes::lane() == 0) result.put(row, part);
    }
    if ((flags & out_full) == 0) count_there(result.found, count);
}

// Parts of long rows: a warp for each.
extern "C" __global__ void WEFT_BOUNDS(256, 4) pull_parts(
    const weft::i64* offsets, const weft::i32* cols, const weft::CellStored* cells, const weft::GivenStored* x,
    const weft::u8* x_there, const weft::MStored* mask, const weft::u8* mask_there,
    const weft::i32* part_row, const weft::i64* part_begin, weft::SumStored* sums,
    weft::u8* sums_there, weft::i64 num_parts, weft::i64 longest, weft::i64 flags) {
    using namespace weft;
    const Operands given{offsets, cols, cells, x, x_there, flags};
    const Mask<MStored> admitted{mask, mask_there, flags};
    const i64 warps = global_size() / warp_size;
    for (i64 at = global_id() / warp_size; at < num_parts; at += warps) {
        const i64 row = part_row[at], begin = part_begin[at], stop = offsets[row + 1];
        const i64 end = begin + longest < stop ? begin + longest : stop;
        Part part{Sum(), false};
        if (admitted.admits(row)) part = pulled<warp_size>(given, begin, end);
        if (lane_id() == 0) {
            sums_there[at] = part.some;
            if (part.some) sums[at] = static_cast<SumStored>(part.sum);
        }
    }
}

// Join the parts of long rows: a warp for each row.
extern "C" __global__ void WEFT_BOUNDS(256, 4) pull_joins(
    const weft::i32* rows, const weft::i64* first_part, const weft::SumStored* sums,
    const weft::u8* sums_there, weft::SumStored* out, weft::u8* there, weft::i64* count,
    weft::i64 num_long, weft::i64 flags) {
    using namespace weft;
    PulledInto result{out, there, flags, 0};
    const i64 warps = global_size() / warp_size;
    for (i64 at = global_id() / warp_size; at < num_long; at += warps) {
        Part part{Sum(), false};
        for (i64 i = first_part[at] + lane_id(); i < first_part[at + 1]; i += warp_size) {
            if (sums_there[i] != 0) part.take(static_cast<Sum>(sums[i]));
        }
        part.join<warp_size>();
        if (lane_id() == 0) result.put(rows[at], part);
    }
    if ((flags & out_full) == 0) count_there(result.found, count);
}

#endif
