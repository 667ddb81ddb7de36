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
template <class Format>
constexpr bool lists_arcs<Joined<Format>> = lists_arcs<Format>;

// The arcs of a vertex by batches, four of a row or what short rows have: each stage waits for
// memory once.
template <class Format, class Visitor>
WEFT_DEVICE void take_arcs(const Format& format, i64 vertex, Visitor& visitor,
                           typename Visitor::Partial& partial, const typename Visitor::Row& held) {
    auto arcs = format.arcs(vertex);
    WEFT_UNROLL(1)
    while (arcs.more()) {
        bool there[batch];
        i64 rows[batch], slots[batch], targets[batch];
        typename Visitor::Message messages[batch];
        const bool four = arcs.next_four(rows[0], slots[0], targets);
        WEFT_UNROLL(batch)
        for (u32 k = 0; k < batch; ++k) {
            there[k] = four || arcs.next(rows[k], slots[k]);
            if (four) {
                rows[k] = rows[0];
                slots[k] = slots[0] + k;
            }
        }
        WEFT_UNROLL(batch)
        for (u32 k = 0; k < batch; ++k) {
            if (there[k] && !four) targets[k] = arcs.target(rows[k], slots[k]);
        }
        WEFT_UNROLL(batch)
        for (u32 k = 0; k < batch; ++k) {
            if (there[k]) {
                messages[k] = visitor.message_of(held, rows[k], slots[k], targets[k]);
            }
        }
        if constexpr (Visitor::joins) visitor.template join<batch>(messages);
        WEFT_UNROLL(batch)
        for (u32 k = 0; k < batch; ++k) {
            if (there[k]) visitor.deliver(partial, held, rows[k], slots[k], messages[k]);
        }
    }
}

template <class Format, class Visitor>
WEFT_DEVICE void walk_joined(const Format& format, i64 vertex, Visitor& visitor) {
    const typename Visitor::Row held = visitor.load(vertex);
    typename Visitor::Partial partial = visitor.empty(held);
    if constexpr (lists_arcs<Format> && Visitor::batches && !Visitor::exits &&
                  !Visitor::settles) {
        take_arcs(format, vertex, visitor, partial, held);
    } else {
        auto ranges = format.ranges(vertex);
        bool left = false;
        for (i64 row = 0, end = 0; !left && ranges.next(row, end);) {
            WEFT_UNROLL(1)
            for (; !left && row < end; ++row) {
                left = take_alone(format, visitor, partial, held, row, format.begin(row),
                                  format.end(row));
            }
        }
    }
    if constexpr (Visitor::collects) visitor.close(held, vertex, partial, true);
}

}  // namespace weft

#endif
