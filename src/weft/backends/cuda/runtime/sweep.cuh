// The contract between schedules, formats, frontiers and the code that weft generates.
//
// A *schedule* decides which threads take which slots of which rows. It is a class template over
// the format and the width of the groups that take one slot together:
//
//   template <class Format, u32 lanes>
//   struct VertexSchedule {
//       struct Memory { ... };                  // pointers into global memory, in declared order
//       template <u32 phase, class Rows, class Visitor>
//       static WEFT_DEVICE void run(const Place&, const Knobs&, const Memory&, const Format&,
//                                   const Rows&, Visitor&);
//   };
//
// Its phases run one after another with a barrier over all blocks between them. All threads of all
// blocks of the place enter each phase, with the same arguments, and all of them leave it.
//
// A *format* is a list of parts, each a class that has rows with slots. All parts are swept, one
// after another, with a barrier between them. A part answers
//
//   num_rows(), num_slots()
//   begin(row), end(row)      the slots of a row, one after another
//   owner(slot)               the row of a slot
//   valid(slot, row)          whether there is an arc; of slots that no row has it is false too
//   target(slot, row)         the far end of the arc
//   place(slot, row)          where the columns of the arc lie
//   vertex(row)               the vertex whose arcs the row has, or some of them
//
// and, where the rows of a vertex can be listed, which are stretches of consecutive rows,
//
//   ranges(vertex)            with next(begin, end), false when there is no further stretch, and
//                             count(), how many rows all that follow have
//   few                       1, 2 or 4 if no vertex has more rows than that, else 0
//   row_of(vertex, k)         the k-th row of a vertex, -1 if it has fewer; only asked if they are
//                             few, or the format joins
//
// and, where a format can tell,
//
//   whole(vertex)             whether a row of this part has all arcs of the vertex, and it has no
//                             other row; false in all parts but the first
//
// and tells at compile time
//
//   packed                    row r + 1 begins where row r ends
//   full_rows                 all slots from begin to end of a row are valid
//   splits                    several rows may have the same vertex
//   direct_owner              owner is a load or a computation, not a search
//
// A format for which `foresees` is true also has
//
//   void expect(i64 row);                        bring nearer where the row lies
//   void expect_slot(i64 slot);                  and what is at a slot, which may be beyond the last
//
// A format for which `by_fours` is true also has
//
//   four_targets(slot, row, targets)    the far ends of four slots of a row from one on, by few loads;
//                                       false, and nothing, where they do not lie as is needed
//
// A format for which `lists_arcs` is true also has
//
//   arcs(vertex)              all arcs of a vertex, whatever rows they are in: with more(),
//                             next_four(row, slot, targets) and next(row, slot), which are false
//                             where the next arcs are not four of a row, or are, and target(row, slot)
//
// Schedules know rows alone; visitors ask for their vertices.
//
// *Rows* are the rows to visit: size() places, of which row(i) is the row at place i, or -1 where
// there is none; and, unless they are a queue, holds(row). A row is at one place only.
//
// A *visitor* is generated. It has
//
//   struct Row;                                  what the arcs of a row share, kept in registers
//   struct Partial;                              what a row gathers; trivially copyable
//   static constexpr bool collects;              false: partials are empty and are never merged
//   static constexpr bool exits;                 false: take never asks to leave the row
//   static constexpr bool asks;                  false: every row is open
//   bool open(i64 row);                          whether the arcs of the row are wanted at all
//   Row load(i64 row);
//   static constexpr bool measures;              whether it needs to know the slots of the row:
//   Row load(i64 row, i64 begin, i64 end);       which whoever has them gives it
//   Partial empty(const Row&);
//   bool take(Partial&, const Row&, i64 row, i64 slot);   one arc; true: no more of this row
//   static constexpr bool batches;               whether take comes in two parts as well:
//   static constexpr bool computes;              whether message_of does more than load
//   Message message_of(const Row&, i64 row, i64 slot, i64 target);   loads, without any effect
//   static constexpr bool joins;                 whether messages are finished together:
//   void join<count>(Message*);                  before any of them is delivered
//   bool deliver(Partial&, const Row&, i64 row, i64 slot, Message&);
//   static constexpr u32 windows;                slots of a lane to have under way together where rows
//   using Target;                                are shared evenly, and what a far end is kept in then
//   static constexpr bool settles;               whether something follows what deliver began:
//   bool settle(const Row&, i64 row, i64 slot, Message&);       whether the far end is to be emitted
//   void emit(const Id (&far)[count], bool (&emits)[count]);    those of a batch that are
//   static constexpr bool counts;                whether take adds to `looked`, as others must who
//                                                deliver and settle
//   static constexpr bool expects;               whether what is read at a row can be brought nearer:
//   void expect(i64 row);
//   static constexpr bool guesses;               whether a row may end with a look at some vertex:
//   i64 first_look(i64 row);                     which one, -1 if the row has no slots
//   bool look(Partial&, const Row&, i64 row, i64 far);    as take, of an open row, before any slot
//   static constexpr bool marks;                 whether a block that works on one row alone says so:
//   void mark(i64 row); void unmark();           by all of its threads, before and after
//   void merge(Partial& into, const Partial& other);      commutative and associative
//   void close(const Row&, i64 row, const Partial&, bool whole);
//
// - open is asked once per row at least, by those who take its slots. A row that is not open is
//   neither taken nor closed. Where rows of a format are split, or vertices are, its answer may turn
//   to false during a phase: lanes that must do the same agree about it (`open_together`).
// - A schedule may offer each open row its first look, once, by one group of one lane. A row that it
//   ends, or that has none, is closed without its slots; of another the slots are taken as ever.
// - Every slot of an open row is taken exactly once, by one group, until `take` returned true for
//   that row; then every lane sharing the row stops as soon as possible (a few more may be taken).
// - All lanes of a group call with the same row and slot, together. Different groups may diverge.
// - close: a schedule whose rows are *whole* closes each open row once with whole = true, also a
//   row without slots. Where they are *split*, each group (or warp) that gathered something closes
//   its part with whole = false, and rows without slots are not closed. Where they are *mixed*,
//   each open row is closed either once as whole (rows without slots too) or in parts. If
//   `collects` is false, close need not be called at all.
//   Group lanes close together; one partial is closed by one group.
#ifndef WEFT_SWEEP_CUH
#define WEFT_SWEEP_CUH

#include "device.cuh"

namespace weft {

// Where a phase runs: among which blocks, and with what memory.
struct Place {
    u32 block;               // rank among the blocks that share the phase
    u32 blocks;              // how many there are
    u64* cells;              // counters of this phase for the schedule, zero when it begins
    const u64* before;       // those of the phase before it
    unsigned char* shared;   // dynamic shared memory for the schedule, 16-byte aligned
};

constexpr u32 schedule_cells = 8;

// Whether rows come by degree class: count(c) of them, row(c, i) being the i-th. All of them are
// open. A schedule that can take them as they are then runs its last phase alone.
template <class Rows>
constexpr bool has_classes = false;

template <class Format>
constexpr bool by_fours = false;

template <class Format>
constexpr bool lists_arcs = false;

template <class Format>
constexpr bool foresees = false;

// What can be tuned without compiling again.
struct Knobs {
    u32 row_lanes;     // threads that share a row (schedule `row`); 0: a block
    u32 items;         // items per thread (schedule `merge`)
    u32 entries;       // rows that a block registers at once (schedule `weaver`)
    u32 warp_degree;   // rows from here on go to a warp
    u32 block_degree;  // and from here on to a block
    u32 grid_degree;   // and from here on to all blocks
};

// Groups of `lanes` consecutive threads of a warp; 0 stands for the whole block, and so does a number
// beyond a warp, which is then that of the threads of a block.
template <u32 lanes, bool of_block = (lanes > warp_size)>
struct Group {
    static_assert((lanes & (lanes - 1)) == 0, "a power of two up to a warp");
    static constexpr u32 per_warp = warp_size / lanes;
    static WEFT_DEVICE u32 lane() { return thread_id() % lanes; }
    static WEFT_DEVICE u32 in_block() { return thread_id() / lanes; }
    static WEFT_DEVICE u32 per_block() { return block_size() / lanes; }
    static WEFT_DEVICE u32 mask() {
        if (lanes == warp_size) return full_mask;
        return ((1u << (lanes % warp_size)) - 1) << (lane_id() / lanes * lanes);
    }
};
struct BlockGroup {
    static WEFT_DEVICE u32 lane() { return thread_id(); }
    static WEFT_DEVICE u32 in_block() { return 0; }
    static WEFT_DEVICE u32 per_block() { return 1; }
};
template <>
struct Group<0, false> : BlockGroup {};
template <u32 lanes>
struct Group<lanes, true> : BlockGroup {};

template <u32 lanes>
WEFT_DEVICE i64 first_group(const Place& place) {
    return static_cast<i64>(place.block) * Group<lanes>::per_block() + Group<lanes>::in_block();
}
template <u32 lanes>
WEFT_DEVICE i64 num_groups(const Place& place) {
    return static_cast<i64>(place.blocks) * Group<lanes>::per_block();
}

// Loops over registers are unrolled as a whole, or not at all; a nest of loops, over a matrix, as one.
// So what is larger lies in memory of its own anyway, and is found there by an address.
WEFT_DEVICE constexpr u32 unrolled(u32 count) { return count <= 128 ? count : 1; }

// A value of any type that may be copied word by word, from another lane.
template <class T>
WEFT_DEVICE T shuffle_any(u32 mask, const T& value, u32 lane, u32 width = warp_size WEFT_HERE) {
    constexpr u32 words = (sizeof(T) + 3) / 4;
    union Bits {
        u32 word[words];
        T value;
        WEFT_DEVICE Bits() {}
    };
    Bits from, to;
    for (u32 i = 0; i < words; ++i) from.word[i] = 0;
    from.value = value;
    WEFT_UNROLL(unrolled(words))
    for (u32 i = 0; i < words; ++i) {
        to.word[i] = shuffle(mask, from.word[i], lane, width WEFT_PASS);
    }
    return to.value;
}

// The plain way through the slots of one row, by one group.
template <class Format, class Visitor>
WEFT_DEVICE void walk_row(const Format& format, i64 row, Visitor& visitor) {
    if (row < 0 || !visitor.open(row)) return;
    const typename Visitor::Row held = visitor.load(row);
    typename Visitor::Partial partial = visitor.empty(held);
    const i64 end = format.end(row);
    for (i64 slot = format.begin(row); slot < end; ++slot) {
        if (!format.valid(slot, row)) continue;
        if (visitor.take(partial, held, row, slot) && Visitor::exits) break;
    }
    visitor.close(held, row, partial, true);
}

}  // namespace weft

#endif
