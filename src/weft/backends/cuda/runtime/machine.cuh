// The loop of a program on a GPU: phases, each entered by all threads, with a barrier after each.
//
// A generated program has `run` (the body of the present phase) and `advance` (what comes next, given
// the counters of the phase that ended). One thread of every block computes `advance` for itself,
// from the same counters, so that no block need be told. Kernels differ in which phases they hold:
// a kernel runs while it is its turn and leaves the loop in memory for the next one.
#ifndef WEFT_MACHINE_CUH
#define WEFT_MACHINE_CUH

#include "control.cuh"
#include "sweep.cuh"

namespace weft {

enum Status : i64 { RUNNING, EMPTY, UNTIL, LIMIT, STOPPED_BY_HOST, TRAIL_FULL };

// What all threads know of the loop. Every member has 8 bytes: the host reads them by position.
struct Loop {
    i64 step;        // supersteps done
    i64 phase;       // the one to be run
    i64 tick;        // phases run so far, from 0 again now and then
    i64 status;
    i64 size;        // of the frontier
    i64 edges;       // its out-edges
    i64 dense;       // the frontier is everything; 2: arcs
    i64 pulling;     // direction of the last sweep over edges
    i64 share;       // of the in-edges that a pull looks at before it stops, in 1024ths
    i64 explored;    // out-edges of all frontiers so far
    i64 mapped;      // the bitmap holds the frontier
    i64 queued;      // the queue holds the frontier
    i64 epoch;       // stamp of the present sweep
    i64 queue;       // which of the two queues holds the frontier
    i64 map;         // which of the three bitmaps does
    i64 touched;     // vertices that got a message
    i64 entered;     // size of the frontier that the present sweep started from
    i64 looked;      // arcs that it looked at
    i64 next_size;   // what the first phases of a sweep put into the next frontier
    i64 next_edges;
    i64 next_tail;
    i64 accepting;   // entries of the reverse queue; -1: not built
    i64 reverse;     // which of the two reverse queues is the present one
    i64 narrow;      // the first cluster runs alone
    i64 records;     // of the profile
    i64 trail_size;
    i64 far_size;
    i64 far;         // which of the two far lists is the present one
    i64 processed;   // vertices since the threshold was raised
    i64 refilling;   // the refill steps are running
    i64 launches;
    i64 back;        // what is to start once the frontier has the form it wants
    i64 clean;       // the bitmap that follows the present one is empty
    i64 reversed;    // epoch for which the reverse queue was made
    i64 swapped;     // the hidden fields of the next superstep are the present ones
    i64 overflow;    // a queue or a bin was too small
    i64 rebuilt;     // the queue was assembled again by ballot since the last record
    i64 following;   // what comes once the queue is there
    i64 once;        // its vertices were never in a frontier before
    i64 classed;     // the queue holds the frontier by degree class, of which there are:
    i64 class_0;
    i64 class_1;
    i64 class_2;
    i64 class_3;
    i64 origin;      // what the first frontier holds in the field that tells who is in a frontier
    i64 part;        // of parts of one kind, the one that is swept
    i64 listed;      // rows that were listed for it
    i64 counted;     // `edges` was counted, and is part of `explored`; else it is a bound
    i64 laid;        // arcs that have places, whose messages are sorted
    i64 digit;       // the first bit of the digit that they are sorted by
    i64 hubs;        // runs of one target that are worth a block
    i64 before;      // size of the frontier that a rule decided about before
    i64 ending;      // the status that an ordered loop ends with once its far list is in order
    i64 remaining;   // vertices that a refill runs over, and one; 0: all of them
    i64 remaining_in;  // the queue that holds them
    i64 shrinking;   // the step that leaves some of them out is running
    i64 sorted;      // what a gather's schedule sorted is all rows of this way to gather; else 0
    u64 sorted_of[4];  // how many there are of each class
    double threshold;
    double raised;
    double delta;
    double floor;
    double least;
    double mean;     // of the finite priorities that wait
    double horizon;  // messages beyond it wait; NaN until it is chosen, then infinite once they went
};

template <class Pointer>
struct Pointed;
template <class T>
struct Pointed<T*> {
    using type = T;
};

// The part of the shared memory that every block keeps: the loop, and the scalars of the state.
// Of a size such that what follows in shared memory may be accessed 16 bytes at a time.
template <class Scalars>
struct alignas(16) Held {
    Loop loop;
    Scalars scalars;
};

constexpr i64 ticks_between_looks = 32;  // at the stop flag, which lies in host memory
constexpr i64 tick_round = 3 << 24;       // a multiple of all that ticks are divided by

// Which of three things that take turns is that of a tick: by a division of 32 bits, which takes a
// fraction of the time of one of 64.
WEFT_DEVICE u32 third_of(i64 tick) { return static_cast<u32>(tick) % 3; }

WEFT_DEVICE void clear_counters(u64* counters, u32 count) {
    for (u32 i = thread_id(); i < count; i += block_size()) counters[i] = 0;
}

// Whether a stop was requested. The answer is not needed before the phase is over.
template <class Args>
WEFT_DEVICE u32 look_for_stop(const Args& a, const Loop& loop) {
    u32 stop = load_relaxed(&a.fault->cause);
    if (loop.tick % ticks_between_looks == 0) stop |= load_volatile(a.stop);
    return stop;
}

template <class Program, u64 phases = ~0ull>
WEFT_DEVICE void run_phase(const typename Program::Args& a, Held<typename Program::Scalars>* held,
                           u64* counters, u32 blocks, unsigned char* shared) {
    const Loop& loop = held->loop;
    u64* cells = counters + third_of(loop.tick) * CELLS;
    const u64* before = counters + third_of(loop.tick + 2) * CELLS;
    u32 stop = 0;
    if (block_id() == 0) {
        clear_counters(counters + third_of(loop.tick + 1) * CELLS, CELLS);
        if (thread_id() == 0) stop = look_for_stop(a, loop);
        Program::clear(a, loop);
    }
    const Place place{block_id(), blocks, cells + SCHEDULE, before + SCHEDULE, shared};
    Program::template run<phases>(a, loop, held->scalars, place, cells);
    if (stop != 0) atomic_add(cells + STOPPED, 1ull);
}

// By each block: on to the next phase. One thread decides; a warp fetches the counters, which are
// far away, at once. Ends with a block barrier.
template <class Program>
WEFT_DEVICE void step_forward(const typename Program::Args& a,
                              Held<typename Program::Scalars>* held, const u64* counters,
                              u32 blocks) {
    static_assert(CELLS == warp_size, "a counter for each lane");
    WEFT_SHARED(u64, cells, CELLS);
    if (warp_id() == 0) {
        cells[lane_id()] = counters[third_of(held->loop.tick) * CELLS + lane_id()];
        sync_warp(full_mask);
        if (lane_id() == 0) {
            Program::advance(a, held->loop, held->scalars, cells, blocks, block_id() == 0);
            held->loop.tick = held->loop.tick + 1 < tick_round ? held->loop.tick + 1 : 0;
        }
    }
    sync_block();
}

// Copy words by the threads of a block: through registers one at a time, not all at once.
template <class T>
WEFT_DEVICE void copy_words(T* to, const T* from) {
    static_assert(sizeof(T) % 8 == 0, "whole words");
    u64* const target = reinterpret_cast<u64*>(to);
    const u64* const source = reinterpret_cast<const u64*>(from);
    for (u32 i = thread_id(); i < sizeof(T) / 8; i += block_size()) target[i] = source[i];
}

template <class Args, class Scalars>
WEFT_DEVICE void load_held(const Args& a, Held<Scalars>* held) {
    copy_words(&held->loop, static_cast<const Loop*>(a.loop));
    copy_words(&held->scalars, reinterpret_cast<const Scalars*>(a.scalars));
    sync_block();
}

// By all threads of one block, which agree on what is stored.
template <class Args, class Scalars>
WEFT_DEVICE void store_held(const Args& a, const Held<Scalars>* held) {
    copy_words(a.loop, &held->loop);
    copy_words(reinterpret_cast<Scalars*>(a.scalars), &held->scalars);
}

// At the end of a kernel: leave the loop for the next one, and tell the host. A fault of the last
// phase has not been seen yet. The host may look at the last word again and again: once it is set,
// all that the kernel wrote is there.
template <class Args, class Scalars>
WEFT_DEVICE void report_held(const Args& a, Held<Scalars>* held) {
    sync_block();
    if (thread_id() == 0) {
        held->loop.launches += 1;
        if (load_relaxed(&a.fault->cause) != 0) held->loop.status = STOPPED_BY_HOST;
    }
    sync_block();
    store_held(a, held);
    copy_words(a.report, &held->loop);
    Scalars* const scalars = reinterpret_cast<Scalars*>(a.report + 1);
    copy_words(scalars, &held->scalars);
    Fault* const fault = reinterpret_cast<Fault*>(scalars + 1);
    copy_words(fault, static_cast<const Fault*>(a.fault));
    sync_block();
    if (thread_id() == 0) {
        fence_system();
        store_volatile(reinterpret_cast<u64*>(fault + 1), 1ull);
    }
}

// The last bit stands for all phases that have none of their own.
WEFT_DEVICE bool is_turn(const Loop& loop, u64 phases) {
    if (loop.status != RUNNING) return false;
    return phases == ~0ull || (phases >> (loop.phase < 63 ? loop.phase : 63) & 1) != 0;
}

// Run the phases of this kernel, of which it has a bit each, as long as it is their turn; others
// are not part of it. A cluster that goes on alone counts in
// the shared memory of its first block, which is nearer than global memory. Small graphs have a grid
// of one cluster, which is alone from the start to the end.
template <class Program, u64 phases>
WEFT_DEVICE void drive(const typename Program::Args& a) {
    using HeldLoop = Held<typename Program::Scalars>;
    WEFT_SHARED(HeldLoop, held, 1);
    WEFT_SHARED(u64, near_counters, 3 * CELLS);
    WEFT_SHARED(unsigned char, shared);
    load_held(a, held);
    const bool all_narrow = grid_size() == cluster_size();
    bool ran = false;
    bool loaded = true;  // others may be reading the loop still
    bool begins = held->loop.phase < 0 && held->loop.status == RUNNING;
    while (begins || is_turn(held->loop, phases)) {
        ran = true;
        const bool narrow = all_narrow || (!begins && held->loop.narrow != 0);
        const u32 blocks = narrow ? cluster_size() : grid_size();
        u64* const counters = narrow ? cluster_pointer(near_counters, 0) : a.counters;
        if (narrow && block_id() == 0) clear_counters(near_counters, 3 * CELLS);
        // Every block has read what the last phase counted before a cluster goes on alone.
        if (narrow && !all_narrow) sync_grid(a.barrier);
        if (block_id() < blocks) {
            if (narrow) sync_cluster();
            do {
                if (begins) {  // nothing is run before the first decision: each block for itself
                    begins = false;
                    sync_block();  // all threads have read the loop; compilers read early, too
                } else {
                    run_phase<Program, phases>(a, held, counters, blocks, shared);
                    if (narrow) sync_cluster();
                    else sync_grid(a.barrier);
                    loaded = false;
                }
                step_forward<Program>(a, held, counters, blocks);
            } while (narrow && (all_narrow || held->loop.narrow != 0) &&
                     is_turn(held->loop, phases));
            // All have read the counters before the block that has them may end.
            if (narrow) sync_cluster();
        }
        if (narrow && !all_narrow) {
            if (block_id() == 0) {
                store_held(a, held);
                clear_counters(a.counters, 3 * CELLS);
            }
            sync_grid(a.barrier);
            load_held(a, held);
            loaded = true;
        }
    }
    if (ran && loaded) {
        if (all_narrow) sync_cluster();
        else sync_grid(a.barrier);
    }
    if (ran && block_id() == 0) report_held(a, held);
}

// One phase and nothing else: the end of the launch is the barrier.
template <class Program>
WEFT_DEVICE void run_alone(const typename Program::Args& a) {
    using HeldLoop = Held<typename Program::Scalars>;
    WEFT_SHARED(HeldLoop, held, 1);
    WEFT_SHARED(unsigned char, shared);
    load_held(a, held);
    if (held->loop.status == RUNNING) {
        run_phase<Program>(a, held, a.counters, grid_size(), shared);
    }
}

// What follows a phase that was run alone.
template <class Program>
WEFT_DEVICE void turn_alone(const typename Program::Args& a, u32 blocks) {
    using HeldLoop = Held<typename Program::Scalars>;
    WEFT_SHARED(HeldLoop, held, 1);
    load_held(a, held);
    const bool running = held->loop.status == RUNNING;
    sync_block();  // all have looked before the first thread goes on
    if (!running) return;
    step_forward<Program>(a, held, a.counters, blocks);
    report_held(a, held);
}

}  // namespace weft

#endif
