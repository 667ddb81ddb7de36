// What every thread of a run shares: counters, the fault, scalars of the loop.
#ifndef WEFT_CONTROL_CUH
#define WEFT_CONTROL_CUH

#include "device.cuh"

namespace weft {

// Counters of one phase. There are three sets in turn: one is written, one is read after the
// barrier, one is cleared for the next phase.
enum Cell : u32 {
    TAIL,      // entries of the queue, of the first degree class
    TAIL_1,    // and of the others
    TAIL_2,
    TAIL_3,
    EMITTED,   // vertices of the next frontier
    EDGES,     // their out-edges
    LOOKED,    // arcs that were looked at
    TOUCHED,   // entries of the list of vertices that got a message
    OVERFLOW,  // whether a bin or a queue was too small
    FAR,       // entries of the list that waits
    STOPPED,   // whether the host, or a fault, asks to stop
    SPARE,
    SCHEDULE,  // the first of the cells for the schedule
    CELLS = 32
};

// The last three say that a proof about the start does not hold: nothing was changed yet.
enum Cause : u32 {
    NO_FAULT,
    INDEX_RANGE,
    LOOP_BOUND,
    SINGULAR,
    NOT_POSITIVE,
    ACCEPTING_START,
    NOT_A_VERTEX,
    STATE_DOES_NOT_TELL
};

// The first cause of trouble, with the function and the vertex where it came up. An index out of
// range is kept with the number of places.
struct Fault {
    u32 cause;
    u32 function;
    i64 vertex;
    i64 index;
    i64 count;
};

// Whether this is the first cause, which alone is kept.
WEFT_DEVICE bool report(Fault* fault, u32 cause, u32 function, i64 vertex WEFT_HERE) {
    if (atomic_cas(&fault->cause, 0u, cause WEFT_PASS) != 0u) return false;
    store_relaxed(&fault->function, function WEFT_PASS);
    store_relaxed(&fault->vertex, vertex WEFT_PASS);
    return true;
}
WEFT_DEVICE void report_index(Fault* fault, i64 index, i64 count, u32 function,
                              i64 vertex WEFT_HERE) {
    if (report(fault, INDEX_RANGE, function, vertex WEFT_PASS)) {
        store_relaxed(&fault->index, index WEFT_PASS);
        store_relaxed(&fault->count, count WEFT_PASS);
    }
}

// An index as it may be used: itself within 0..n-1, else 0 after a fault.
template <class T>
WEFT_DEVICE i64 checked(T index, i64 n, Fault* fault, u32 function, i64 vertex WEFT_HERE) {
    const i64 place = static_cast<i64>(index);
    if (static_cast<u64>(place) < static_cast<u64>(n)) return place;
    report_index(fault, place, n, function, vertex WEFT_PASS);
    return 0;
}

}  // namespace weft

#endif
