// A visitor that counts what a schedule does, and the kernel that runs one phase of a sweep.
//
// The visitor traps where the contract of sweep.cuh is broken at once: a row or slot that is not
// the group's, partials of different lanes that meet, a row that was not open. test_coverage.py
// adds up the rest.
using namespace weft;

// A pointer to whatever the struct that it is put into wants.
struct Any {
    void* pointer;
    template <class T>
    WEFT_DEVICE operator T*() const {
        return static_cast<T*>(pointer);
    }
};

// Rows of a kind that is chosen at run time.
enum Kind : i64 { ALL, QUEUE, BITMAP, BYTEMAP };
template <class Vertex>
struct SomeRows {
    i64 kind;
    Any items;
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE bool holds(i64 row) const {
        if (kind == BITMAP) return BitmapRows{items, count}.holds(row);
        if (kind == BYTEMAP) return BytemapRows{items, count}.holds(row);
        if (kind != ALL) trap();
        return true;
    }
    WEFT_DEVICE i64 row(i64 i) const {
        if (i < 0 || i >= count) trap();
        if (kind == QUEUE) return QueueRows<Vertex>{items, count}.row(i);
        return holds(i) ? i : -1;
    }
};
template <class Rows>
struct Make {
    static WEFT_DEVICE Rows rows(i64, Any items, i64 count) { return {items, count}; }
};
template <>
struct Make<AllRows> {
    static WEFT_DEVICE AllRows rows(i64, Any, i64 count) { return {count}; }
};
template <class Vertex>
struct Make<SomeRows<Vertex>> {
    static WEFT_DEVICE SomeRows<Vertex> rows(i64 kind, Any items, i64 count) {
        return {kind, items, count};
    }
};

// Rows with holes.
template <class Vertex>
struct Holed : Csr<Vertex> {
    static constexpr bool full_rows = false;
    WEFT_DEVICE bool valid(i64 slot, i64) const { return slot % 5 != 2; }
};

struct Tally {
    const u8* refused;   // rows that are not open
    const u8* wanted;    // places after which no more of their row is wanted
    const i64* owners;   // the row of each place
    u32* taken;          // per place
    u32* wholes;         // per row
    u32* parts;
    i64* sums;
};

template <bool collects>
struct Gathered {
    i64 row;
    i64 sum;
    u32 lane;
};
template <>
struct Gathered<false> {};

template <class Format, u32 lanes, bool does_collect, bool does_exit>
struct Counter {
    static constexpr bool collects = does_collect;
    static constexpr bool exits = does_exit;
    static constexpr bool batches = !does_collect && !does_exit;
    static constexpr bool settles = false;
    static constexpr u32 windows = batches ? 4 : 1;
    using Target = i64;
    static constexpr bool asks = true;
    static constexpr bool computes = false;
    static constexpr bool joins = false;
    static constexpr bool marks = false;
    static constexpr bool counts = false;
    static constexpr bool expects = false;
    static constexpr bool guesses = false;
    static constexpr bool measures = false;
    struct Row {
        i64 row;
        u32 lane;
    };
    using Partial = Gathered<collects>;
    struct Message {
        i64 slot;
        i64 target;
    };
    const Format& format;
    Tally tally;

    // Whether all lanes of the group are here with the same value.
    WEFT_DEVICE void together(i64 value) {
        if constexpr (lanes == 0) {
            WEFT_SHARED(i64, first, 1);
            if (thread_id() == 0) *first = value;
            sync_block();
            if (*first != value) trap();
            sync_block();
        } else if constexpr (lanes > 1) {
            if (shuffle(Group<lanes>::mask(), value, 0, lanes) != value) trap();
        }
    }
    WEFT_DEVICE bool open(i64 row) {
        together(row);
        return tally.refused[row] == 0;
    }
    WEFT_DEVICE Row load(i64 row) {
        together(row);
        if (tally.refused[row] != 0) trap();
        return {row, Group<lanes>::lane()};
    }
    WEFT_DEVICE Partial empty(const Row& held) {
        if constexpr (collects) return {held.row, 0, held.lane};
        else return {};
    }
    WEFT_DEVICE bool take(Partial& partial, const Row& held, i64 row, i64 slot) {
        together(slot);
        const u32 lane = Group<lanes>::lane();
        const i64 place = format.place(slot, row);
        if (held.row != row || held.lane != lane || tally.owners[place] != row) trap();
        if (lane == 0) atomic_add(tally.taken + place, 1u);
        if constexpr (collects) {
            if (partial.row != row || partial.lane != lane) trap();
            partial.sum += (place + 1) * (lane + 1);
        }
        return tally.wanted[place] != 0;
    }
    // Where loads are made ahead: a message is that of the slot it is delivered for.
    WEFT_DEVICE Message message_of(const Row&, i64 row, i64 slot, i64 target) {
        if (target != format.target(slot, row)) trap();
        return {slot, target};
    }
    WEFT_DEVICE bool deliver(Partial& partial, const Row& held, i64 row, i64 slot,
                             Message& message) {
        if (message.slot != slot || message.target != format.target(slot, row)) trap();
        return take(partial, held, row, slot);
    }
    WEFT_DEVICE void merge(Partial& into, const Partial& other) {
        if constexpr (collects) {
            if (into.row != other.row || into.lane != other.lane) trap();
            into.sum += other.sum;
        } else {
            trap();
        }
    }
    WEFT_DEVICE void close(const Row& held, i64 row, const Partial& partial, bool whole) {
        together(row);
        if (held.row != row || held.lane != Group<lanes>::lane()) trap();
        if (held.lane == 0) atomic_add((whole ? tally.wholes : tally.parts) + row, 1u);
        if constexpr (collects) {
            if (partial.row != row || partial.lane != held.lane) trap();
            atomic_add(tally.sums + row, partial.sum);
        }
    }
};

template <u32 count, class T, class... Rest>
WEFT_DEVICE T made(Any a, Any b, Any c, Any d, Any e, Any f, Rest... rest) {
    if constexpr (count == 0) return T{rest...};
    else if constexpr (count == 1) return T{a, rest...};
    else if constexpr (count == 2) return T{a, b, rest...};
    else if constexpr (count == 3) return T{a, b, c, rest...};
    else if constexpr (count == 4) return T{a, b, c, d, rest...};
    else if constexpr (count == 5) return T{a, b, c, d, e, rest...};
    else return T{a, b, c, d, e, f, rest...};
}

enum Number { ROWS, SLOTS, KIND, COUNT, SKIPPED, ROW_LANES, ITEMS, WARP, BLOCK, GRID, MORE };

// A part with `count` arrays and `more` numbers beside rows and slots.
template <class Part, u32 count, u32 more, class... Given>
WEFT_DEVICE Part with_numbers(const i64* n, Any a, Any b, Any c, Any d, Any e, Any f,
                              Given... given) {
    constexpr u32 known = sizeof...(Given) - 2;
    if constexpr (known == more) return made<count, Part>(a, b, c, d, e, f, given...);
    else return with_numbers<Part, count, more>(n, a, b, c, d, e, f, given..., n[known]);
}
template <class Part, u32 count, u32 more>
WEFT_DEVICE Part part_of(const i64* numbers, Any a, Any b, Any c, Any d, Any e, Any f) {
    return with_numbers<Part, count, more>(numbers + MORE, a, b, c, d, e, f, numbers[ROWS],
                                           numbers[SLOTS]);
}

// The row of each place of a part, the vertex and the slots of each row, the rows that vertices list
// and the vertices that are whole: by one thread. It traps where the answers of the part do not fit
// together.
template <class Part, u32 count, u32 more, bool lists, bool wholes>
__global__ void describe(const i64* numbers, void* p0, void* p1, void* p2, void* p3, void* p4,
                         void* p5, const i64* owners, const i64* targets, i64* rows_at,
                         i64* vertices, i64* degrees, u32* listed, u8* whole) {
    if (block_id() != 0 || thread_id() != 0) return;
    const Part part = part_of<Part, count, more>(numbers, Any{p0}, Any{p1}, Any{p2}, Any{p3},
                                                 Any{p4}, Any{p5});
    i64 arcs = 0;
    for (i64 row = 0; row < part.num_rows(); ++row) {
        vertices[row] = part.vertex(row);
        degrees[row] = part.end(row) - part.begin(row);
        if (part.end(row) < part.begin(row) || part.end(row) > part.num_slots()) trap();
        if (Part::packed && row > 0 && part.begin(row) != part.end(row - 1)) trap();
        for (i64 slot = part.begin(row); slot < part.end(row); ++slot) {
            if (part.owner(slot) != row) trap();
            if (!part.valid(slot, row)) {
                if (Part::full_rows) trap();
                continue;
            }
            const i64 place = part.place(slot, row);
            if (rows_at[place] != -1 || owners[place] != vertices[row]) trap();
            if (targets[place] != part.target(slot, row)) trap();
            rows_at[place] = row;
            ++arcs;
        }
        if constexpr (by_fours<Part>) {
            for (i64 slot = part.begin(row); slot + 4 <= part.end(row); ++slot) {
                i64 four[4];
                const bool loaded = part.four_targets(slot, row, four);
                if (slot == part.begin(row) && !loaded) trap();
                for (u32 k = 0; loaded && k < 4; ++k) {
                    if (four[k] != part.target(slot + k, row)) trap();
                }
            }
        }
    }
    for (i64 slot = 0; slot < part.num_slots(); ++slot) {
        arcs -= part.valid(slot, part.owner(slot)) ? 1 : 0;
    }
    if (arcs != 0) trap();
    if constexpr (lists) {
        for (i64 v = 0; v < numbers[COUNT]; ++v) {
            auto ranges = part.ranges(v);
            i64 left = ranges.count();
            for (i64 begin = 0, end = 0; ranges.next(begin, end);) {
                for (i64 row = begin; row < end; ++row) {
                    if (part.vertex(row) != v) trap();
                    ++listed[row];
                }
                left -= end - begin;
                if (ranges.count() != left) trap();
            }
            if (left != 0) trap();
            auto again = part.ranges(v);
            if (part.few != 0 && again.count() > part.few) trap();
            i64 found = 0;
            for (i64 begin = 0, end = 0; part.few != 0 && again.next(begin, end);) {
                for (i64 row = begin; row < end; ++row) {
                    if (part.row_of(v, found++) != row) trap();
                }
            }
            if (part.few != 0 && found < part.few && part.row_of(v, found) != -1) trap();
        }
    }
    if constexpr (wholes) {
        for (i64 v = 0; v < numbers[COUNT]; ++v) whole[v] = part.whole(v);
    }
}

// The run-time of the emulation names a thread on the stack of its fibre, and ThreadSanitizer takes
// what it wrote there for unordered with the kernel's own variables at the same place.
constexpr u32 left_free = 4096;
WEFT_DEVICE void stay_below(void* stack) { asm volatile("" ::"r"(stack)); }

// The first `SKIPPED` blocks of the launch stay out: the schedule may only look at its place.
template <template <class, u32> class Schedule, u32 phases, u32 memories, class Format, u32 count,
          u32 more, u32 lanes, class Rows, bool collects, bool exits>
__global__ void sweep(u32 phase, const i64* numbers, void* p0, void* p1, void* p2, void* p3,
                      void* p4, void* p5, void* m0, void* m1, void* m2, void* m3, void* m4,
                      void* m5, void* items, u64* cells, const u8* refused, const u8* wanted,
                      const i64* owners, u32* taken, u32* wholes, u32* parts_closed, i64* sums) {
    WEFT_SHARED(unsigned char, shared);
    stay_below(__builtin_alloca(left_free));
    const u32 skipped = static_cast<u32>(numbers[SKIPPED]);
    if (block_id() < skipped) return;
    const Place place = {block_id() - skipped, grid_size() - skipped,
                         cells + schedule_cells * (phase + 1), cells + schedule_cells * phase,
                         shared};
    const Knobs knobs = {static_cast<u32>(numbers[ROW_LANES]), static_cast<u32>(numbers[ITEMS]),
                         static_cast<u32>(numbers[WARP]), static_cast<u32>(numbers[BLOCK]),
                         static_cast<u32>(numbers[GRID])};
    const Format format = part_of<Format, count, more>(numbers, Any{p0}, Any{p1}, Any{p2},
                                                       Any{p3}, Any{p4}, Any{p5});
    using Chosen = Schedule<Format, lanes>;
    using Memory = typename Chosen::Memory;
    const Memory memory = made<memories, Memory>(Any{m0}, Any{m1}, Any{m2}, Any{m3}, Any{m4},
                                                 Any{m5});
    const Rows rows = Make<Rows>::rows(numbers[KIND], Any{items}, numbers[COUNT]);
    Counter<Format, lanes, collects, exits> visitor = {
        format, {refused, wanted, owners, taken, wholes, parts_closed, sums}};
    if (phase == 0) Chosen::template run<0>(place, knobs, memory, format, rows, visitor);
    if constexpr (phases > 1) {
        if (phase == 1) Chosen::template run<1>(place, knobs, memory, format, rows, visitor);
    }
    if constexpr (phases > 2) {
        if (phase == 2) Chosen::template run<2>(place, knobs, memory, format, rows, visitor);
    }
    if constexpr (phases > 3) {
        if (phase == 3) Chosen::template run<3>(place, knobs, memory, format, rows, visitor);
    }
}
