// All rows of a vertex walked one after another by one group, as if they were one.
//
// A format that splits vertices then needs no place where parts meet, and who leaves a row leaves the
// vertex. The rows of a sweep are vertices, and so are those that the visitor opens, loads and
// closes; it takes slots of the format's rows.
#ifndef WEFT_SCHEDULE_JOINED_CUH
#define WEFT_SCHEDULE_JOINED_CUH

#include "sharing.cuh"

namespace weft {

template <class Format>
struct Joined : Format {
    explicit WEFT_DEVICE Joined(const Format& format) : Format(format) {}
};

template <class Format>
constexpr bool is_joined = false;
template <class Format>
constexpr bool is_joined<Joined<Format>> = true;
template <class Format>
constexpr bool by_fours<Joined<Format>> = by_fours<Format>;

template <class Format, class Visitor>
WEFT_DEVICE void walk_joined(const Format& format, i64 vertex, Visitor& visitor) {
    const typename Visitor::Row held = visitor.load(vertex);
    typename Visitor::Partial partial = visitor.empty(held);
    auto ranges = format.ranges(vertex);
    bool left = false;
    for (i64 row = 0, end = 0; !left && ranges.next(row, end);) {
        WEFT_UNROLL(1)
        for (; !left && row < end; ++row) {
            left = take_alone(format, visitor, partial, held, row, format.begin(row),
                              format.end(row));
        }
    }
    if constexpr (Visitor::collects) visitor.close(held, vertex, partial, true);
}

}  // namespace weft

#endif
