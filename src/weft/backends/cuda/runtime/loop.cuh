// The parts of the loop that are the same for every program, and the memory that phases ask for.
#ifndef WEFT_LOOP_CUH
#define WEFT_LOOP_CUH

#include "compact.cuh"
#include "inputs.cuh"
#include "machine.cuh"
#include "updates.cuh"
#include "waiting.cuh"

namespace weft {

// Decisions that many others end with. They are noted and made once, after all others: put in place
// of each mention they were half of the code.
enum class Coming : u32 { nothing, end_step, begin_step };

// What a decision sees: one thread of every block makes it, from the same counters.
template <class Args, class Scalars>
struct Turn {
    const Args& a;
    Loop& loop;
    Scalars& scalars;
    const u64* cells;
    u32 blocks;
    bool leader;  // of all blocks: it alone may write to memory
    Coming coming = Coming::nothing;
    bool ready = false;  // in the end, see to the form of the frontier that the next sweep wants
};

template <class Args>
WEFT_DEVICE Knobs knobs_of(const Args& a) {
    return {a.row_lanes, a.items, a.entries, a.warp_degree, a.block_degree, a.grid_degree};
}

// One of the two queues; where a trail is replayed, what lies there from some place on. Where a
// refill runs over what is left, queues 2 and 3 hold that in turn.
template <class Args>
WEFT_DEVICE auto queue_of(const Args& a, i64 which) {
    if constexpr (Args::shrinks) {
        if (which >= 2) return which == 2 ? a.remaining_0 : a.remaining_1;
    }
    if constexpr (Args::in_trail) return a.replayed() + which;
    else return (which & 1) != 0 ? a.queue_1 : a.queue_0;
}
// The queue that the next frontier goes to.
template <class Args>
WEFT_DEVICE i64 next_queue(const Loop& loop) {
    if constexpr (Args::shrinks) {
        if (loop.shrinking != 0) return loop.queue == 2 ? 3 : 2;
        return loop.queue == 0 ? 1 : 0;
    }
    return loop.queue + 1;
}
template <class Args>
WEFT_DEVICE auto next_queue_of(const Args& a, const Loop& loop) {
    return queue_of(a, next_queue<Args>(loop));
}
template <class Args, class Scalars>
WEFT_DEVICE void turn_queue(Turn<Args, Scalars>& t) {
    t.loop.queue = Args::shrinks ? next_queue<Args>(t.loop) : 1 - t.loop.queue;
}
template <class Args>
WEFT_DEVICE u32* map_of(const Args& a, i64 which) {
    const i64 at = which % 3;
    return at == 0 ? a.map_0 : at == 1 ? a.map_1 : a.map_2;
}
template <class Args>
WEFT_DEVICE u32* bits_of(const Args& a, i64 which) {
    return map_of(a, which);
}
template <class Args>
WEFT_DEVICE u8* bytes_of(const Args& a, i64 which) {
    return reinterpret_cast<u8*>(map_of(a, which));
}
template <class Args>
WEFT_DEVICE auto reverse_of(const Args& a, i64 which) {
    return (which & 1) != 0 ? a.reverse_queue_1 : a.reverse_queue_0;
}

// The frontier that a sweep works on.
template <class Args>
WEFT_DEVICE i64 entered_vertex(const Args& a, const Loop& loop, i64 i) {
    return loop.dense != 0 ? i : static_cast<i64>(queue_of(a, loop.queue)[i]);
}
template <class Args>
WEFT_DEVICE auto entered_rows(const Args& a, const Loop& loop) {
    using Vertex = typename Pointed<decltype(a.queue_0)>::type;
    return SomeRows<Vertex>{loop.dense != 0 ? nullptr : queue_of(a, loop.queue), loop.size};
}

template <class Args, class Format>
WEFT_DEVICE auto queued_rows(const Args& a, const Loop& loop, const Format& format) {
    using Vertex = typename Pointed<decltype(a.queue_0)>::type;
    const i64 queued = format.few != 0 ? loop.size : loop.listed;
    return QueuedRows<Format, Vertex>{format, loop.dense != 0 ? nullptr : queue_of(a, loop.queue),
                                      a.row_list, loop.dense != 0 ? format.num_rows() : queued};
}
template <class Args>
WEFT_DEVICE auto class_rows(const Args& a, const Loop& loop) {
    using Vertex = typename Pointed<decltype(a.queue_0)>::type;
    return ClassRows<Vertex>{queue_of(a, loop.queue),
                             {0, a.class_1, a.class_2, a.class_3},
                             {loop.class_0, loop.class_1, loop.class_2, loop.class_3}};
}

// Where the next frontier goes.
template <class Out, class Args>
WEFT_DEVICE Out make_plain_output(const Args& a, const Loop& loop, const Place& place, u64* cells) {
    Out out{next_queue_of(a, loop), a.n, a.stamps, static_cast<u32>(loop.epoch),
               bits_of(a, loop.map + 1), bytes_of(a, loop.map + 1), cells,
            place.shared + a.output_at, a.bin_size, a.warp_degree, a.block_degree, a.grid_degree,
            0, 0};
    if constexpr (Out::num_classes > 1) {
        out.class_1 = a.class_1;
        out.class_2 = a.class_2;
        out.class_3 = a.class_3;
        out.class_4 = a.class_4;
    }
    return out;
}
template <class Out, class Args>
WEFT_DEVICE Out make_output(const Args& a, const Loop& loop, const Place& place, u64* cells) {
    Out out = make_plain_output<Out>(a, loop, place, cells);
    if constexpr (Out::num_classes == 1) {  // by class, one phase puts out everything
        out.queue += loop.next_tail;
        out.capacity -= loop.next_tail;
    }
    return out;
}
template <class Args>
WEFT_DEVICE auto make_touched(const Args& a, const Loop& loop, const Place& place, u64* cells) {
    using Vertex = typename Pointed<decltype(a.touched)>::type;
    return Far<Vertex, true>{a.touched + loop.touched, a.n - loop.touched, cells,
                             place.shared + a.touched_at, a.bin_size, a.stamp_0,
                             static_cast<u32>(loop.epoch)};
}
// The same as the next frontier: what became of their messages is not needed.
template <class Args>
WEFT_DEVICE auto make_told(const Args& a, const Loop& loop, const Place& place, u64* cells) {
    auto told = make_touched(a, loop, place, cells);
    told.far = next_queue_of(a, loop) + loop.next_tail;
    told.capacity = a.n - loop.next_tail;
    return told;
}
template <class Args>
WEFT_DEVICE auto make_reverse(const Args& a, const Loop& loop, const Place& place, u64* cells) {
    using Vertex = typename Pointed<decltype(a.queue_0)>::type;
    return Far<Vertex, false>{reverse_of(a, loop.reverse + 1), a.n, cells,
                              place.shared + a.output_at, a.bin_size};
}

template <class Args>
WEFT_DEVICE void clear_spare(const Args& a, const Loop& loop, const Place& place, i64 words) {
    clear_words(place, map_of(a, loop.map + 2), words);
}

WEFT_DEVICE void count_looked(u64 looked, u64* cells) {
    looked = reduce_add(full_mask, looked);
    if (lane_id() == 0 && looked != 0) atomic_add(cells + LOOKED, looked);
}

// A frontier of arcs as a format: the slots are places in the list.
template <class Vertex>
struct ArcList {
    const i64* arcs;
    const Vertex* sources;
    const Vertex* targets;
    WEFT_DEVICE i64 target(i64 slot, i64) const { return load_constant(targets + slot); }
};
template <class Vertex, class Visitor>
WEFT_DEVICE void visit_arc(const ArcList<Vertex>& list, i64 i, Visitor& visitor) {
    const i64 arc = list.arcs[i];
    const i64 u = load_constant(list.sources + arc);
    const typename Visitor::Row row = visitor.load(u);
    typename Visitor::Partial partial = visitor.empty(row);
    visitor.take(partial, row, u, arc);
}

// The frontier that a sweep works on, as a list.
template <class Args>
struct Entered {
    const Args& a;
    const Loop& loop;
    WEFT_DEVICE i64 operator[](i64 i) const { return entered_vertex(a, loop, i); }
};

// The lists of what waits: one that is there, and the other that it is split into.
template <class Args>
WEFT_DEVICE auto far_of(const Args& a, i64 which) {
    return (which & 1) != 0 ? a.far_b : a.far_a;
}
constexpr u32 waits = 1;  // the stamp of a vertex that is in the list

// The end of the present list, and the whole of the other one. What is split was stamped before.
template <class Args>
WEFT_DEVICE auto make_waiting(const Args& a, const Loop& loop, const Place& place, u64* cells) {
    using Vertex = typename Pointed<decltype(a.far_a)>::type;
    return Far<Vertex, true>{far_of(a, loop.far) + loop.far_size, a.n - loop.far_size, cells,
                             place.shared + a.touched_at, a.bin_size, a.stamp_0, waits};
}
template <class Args>
WEFT_DEVICE auto make_kept(const Args& a, const Loop& loop, const Place& place, u64* cells) {
    using Vertex = typename Pointed<decltype(a.far_a)>::type;
    return Far<Vertex, false>{far_of(a, loop.far + 1), a.n, cells, place.shared + a.touched_at,
                              a.bin_size};
}

// What `next_threshold` may look at.
struct Threshold {
    double old;
    double min;
    i64 waiting;
    i64 edges;
};

// The least number above x.
WEFT_DEVICE double next_above(double x) {
    if (x != x || x == infinity<double>()) return not_a_number<double>();
    if (x == 0) return same_bits<double>(1ull);
    const u64 bits = same_bits<u64>(x);
    return same_bits<double>(x > 0 ? bits + 1 : bits - 1);
}

// Where the bucket ends that comes next: the one after the threshold, or that of the least priority.
WEFT_DEVICE double end_of_bucket(const Loop& loop) {
    const double width = loop.delta;
    const bool known = loop.floor > -infinity<double>() && loop.floor < infinity<double>();
    if (!(width > 0) || !known) return loop.threshold + width;
    return (real::floor(loop.floor / width) + 1) * width;
}

// Nothing was near: go on from the least priority that waits. Without a window so far, it is a
// sixteenth of what lies ahead, and soon widens if that is too little work; where all that waits is
// equal, `apart` says whether the window is a millionth of it, or still to be found.
WEFT_DEVICE void start_from_least(Loop& loop, bool apart) {
    if (!(loop.delta > 0)) {
        const double ahead = (loop.mean - loop.least) / 16;
        const double delta = ahead > 0 && ahead < infinity<double>() ? ahead : 0;
        const bool known = apart && real::fabs(loop.least) < infinity<double>();
        const double small = known ? real::fabs(loop.least) * 1e-6 : 0;
        loop.delta = delta > small ? delta : small;
    }
    loop.floor = loop.least;
    if (loop.least > loop.threshold) loop.threshold = loop.least;
}

// -- decisions that every program shares

template <class T>
WEFT_DEVICE void begin_output(T& t) {
    t.loop.next_tail = t.loop.next_size = t.loop.next_edges = t.loop.overflow = 0;
    t.loop.touched = 0;
}

// Add what a phase put into the next frontier to what those before it did.
template <class T>
WEFT_DEVICE void keep_counts(T& t) {
    t.loop.next_size += static_cast<i64>(t.cells[EMITTED]);
    t.loop.next_edges += static_cast<i64>(t.cells[EDGES]);
    t.loop.next_tail += static_cast<i64>(t.cells[TAIL]);
    t.loop.overflow |= static_cast<i64>(t.cells[OVERFLOW]);
}

// Between the phases of a schedule that sorts rows and then takes them: what it counted, and whether
// the next gather of the same way over all rows can do without the first phase.
template <class T>
WEFT_DEVICE void keep_sorted(T& t, i64 way) {
    t.loop.sorted = t.loop.dense != 0 ? way : 0;
    for (u32 i = 0; i < 4; ++i) t.loop.sorted_of[i] = t.cells[SCHEDULE + i];
}
WEFT_DEVICE Place sorted_place(const Place& place, const Loop& loop) {
    return {place.block, place.blocks, place.cells, loop.sorted_of, place.shared};
}

template <class T>
WEFT_DEVICE void keep_told(T& t) {
    t.loop.next_size += static_cast<i64>(t.cells[FAR]);
    t.loop.next_tail += static_cast<i64>(t.cells[FAR]);
    t.loop.overflow |= static_cast<i64>(t.cells[OVERFLOW]);
}

// Where their degrees were not requested: the most out-edges that the vertices can have.
template <class T>
WEFT_DEVICE void keep_uncounted(T& t) {
    keep_counts(t);
    t.loop.next_edges = t.loop.next_tail * t.a.most_degree;
    t.loop.counted = 0;
}

template <class T>
WEFT_DEVICE void queue_taken(T& t) {
    Loop& loop = t.loop;
    turn_queue(t);
    loop.size = loop.next_tail;
    loop.edges = loop.next_edges;
    loop.dense = loop.mapped = loop.classed = 0;
    loop.queued = 1;
    if (loop.once != 0) loop.explored += loop.next_edges;
    loop.next_tail = loop.next_size = loop.next_edges = 0;
}

// The other queue was filled by degree class: with the present frontier, or with the next one.
template <class T>
WEFT_DEVICE void classes_filled(T& t) {
    turn_queue(t);
    t.loop.classed = 1;
    t.loop.queued = 0;
    t.loop.class_0 = static_cast<i64>(t.cells[TAIL]);
    t.loop.class_1 = static_cast<i64>(t.cells[TAIL_1]);
    t.loop.class_2 = static_cast<i64>(t.cells[TAIL_2]);
    t.loop.class_3 = static_cast<i64>(t.cells[TAIL_3]);
}
template <class T>
WEFT_DEVICE void classes_taken(T& t, bool once) {
    classes_filled(t);
    t.loop.size = static_cast<i64>(t.cells[EMITTED]);
    t.loop.edges = static_cast<i64>(t.cells[EDGES]);
    t.loop.dense = t.loop.mapped = 0;
    if (once) t.loop.explored += t.loop.edges;
}

WEFT_DEVICE void map_taken(Loop& loop, bool once) {
    loop.map = (loop.map + 1) % 3;
    loop.size = loop.next_size;
    loop.edges = loop.next_edges;
    loop.dense = loop.queued = loop.classed = 0;
    loop.mapped = loop.counted = 1;
    if (once) loop.explored += loop.next_edges;
    loop.next_tail = loop.next_size = loop.next_edges = 0;
}

// The frontier is what the state tells: neither a queue nor a map holds it.
WEFT_DEVICE void state_taken(Loop& loop) {
    loop.size = loop.next_size;
    loop.edges = loop.next_edges;
    loop.dense = loop.queued = loop.mapped = loop.classed = 0;
    loop.counted = 1;
    loop.explored += loop.next_edges;
    loop.next_tail = loop.next_size = loop.next_edges = 0;
}

template <class T>
WEFT_DEVICE void take_everything(T& t) {
    t.loop.size = t.a.n;
    t.loop.edges = t.a.arcs;
    t.loop.dense = t.loop.counted = 1;
    t.loop.mapped = t.loop.queued = t.loop.classed = t.loop.narrow = 0;
}

// Begin a round with what the first step of the refill left, or with all vertices.
template <class T>
WEFT_DEVICE void take_remaining(T& t) {
    t.loop.shrinking = 1;
    if (t.loop.remaining == 0) {
        take_everything(t);
        return;
    }
    t.loop.queue = t.loop.remaining_in;
    t.loop.size = t.loop.remaining - 1;
    t.loop.edges = 0;
    t.loop.dense = t.loop.mapped = t.loop.classed = 0;
    t.loop.queued = t.loop.counted = 1;
    choose_width(t);
}

template <class T>
WEFT_DEVICE void keep_remaining(T& t) {
    t.loop.remaining = t.loop.size + 1;
    t.loop.remaining_in = t.loop.queue;
    t.loop.shrinking = 0;
}

// An empty queue.
WEFT_DEVICE void take_nobody(Loop& loop) {
    loop.size = loop.edges = 0;
    loop.dense = loop.mapped = loop.classed = 0;
    loop.queued = loop.counted = 1;
}

template <class T>
WEFT_DEVICE void take_all_if_changed(T& t) {
    const bool any = t.loop.next_size > 0;
    take_everything(t);
    if (!any) t.loop.size = t.loop.edges = 0;
}

// The share of the edges within reach that a pull looked at, in 1024ths.
WEFT_DEVICE i64 share_of(i64 looked, i64 reach) {
    const i64 share = looked * 1024 / (reach > 0 ? reach : 1);
    return share < 1 ? 1 : share > 1024 ? 1024 : share;
}

// A push looked at the out-edges of its frontier.
template <class T>
WEFT_DEVICE void keep_looked(T& t) {
    t.loop.looked += static_cast<i64>(t.cells[LOOKED]);
    if (t.loop.counted == 0) t.loop.explored += t.loop.looked;
}

template <class T>
WEFT_DEVICE bool stop_asked(T& t) {
    if (t.cells[STOPPED] == 0) return false;
    t.loop.status = STOPPED_BY_HOST;
    return true;
}

// A narrow frontier is worked on by the first cluster alone.
template <class T>
WEFT_DEVICE void choose_width(T& t) {
    t.loop.narrow = t.loop.dense == 0 && t.loop.size <= t.a.narrow_size &&
                    t.loop.edges <= t.a.narrow_edges;
}

// The time at which the first record begins stands behind the ring.
template <class T>
WEFT_DEVICE void begin_records(T& t) {
    if (t.leader && t.a.ring_size > 0 && t.loop.records == 0) {
        t.a.ring[t.a.ring_size * 7] = static_cast<i64>(nanoseconds());
    }
}

template <class T>
WEFT_DEVICE void record(T& t, i64 sweep, i64 direction) {
    if (t.leader && t.a.ring_size > 0) {
        i64* const slot = t.a.ring + t.loop.records % t.a.ring_size * 7;
        slot[0] = t.loop.step;
        slot[1] = sweep;
        slot[2] = direction;
        slot[3] = t.loop.entered;
        slot[4] = t.loop.looked;
        slot[5] = static_cast<i64>(nanoseconds());
        slot[6] = t.loop.rebuilt;
    }
    t.loop.rebuilt = 0;
    t.loop.records += 1;
}

template <class T>
WEFT_DEVICE void exchange(T& x, T& y) {
    const T kept = x;
    x = y;
    y = kept;
}

}  // namespace weft

#endif
