// How the next frontier is assembled while the current one is worked on.
//
// begin and end are for all threads of a block, emit for any of them at any time between, also
// where a warp has diverged: nothing in emit waits for a thread that is not there. A barrier over
// the block lies between end and the next use of the shared memory (that between phases does).
//
// What a queue is made of, by compaction:
//   online  A bin per degree class in shared memory is filled by shared atomics; what no longer
//           fits goes straight to the queue. end appends the bins, each by one atomic and a
//           coalesced copy.
//   atomic  Straight to the queue.
//   jit     Bins only; a bin that is too small sets OVERFLOW.
//   batch   As online, duplicates included, whatever `dedup` says: filter_batch takes them out.
//   ballot  Marks only; count_members and write_members build the queue.
//
// OVERFLOW, set by a bin (jit) or a queue that was too small, says that the queue is to be built
// from the stamps by count_members and write_members; nothing was written out of bounds, and TAIL
// may exceed the capacity. All emitted vertices are then marked in `stamps`, except under
//   batch, and under `proven` with online or atomic,
// where only those without a place are: mark_queue (or filter_batch) adds the others first. So
// where each vertex is proven to come once and there is room for all, no stamp is ever touched.
//
// EMITTED counts vertices where dedup is exact or proven, else entries. EDGES goes with it. Neither
// is counted for a DegreeOf that does not; then LOOKED is.
#ifndef WEFT_OUTPUT_CUH
#define WEFT_OUTPUT_CUH

#include "bins.cuh"
#include "control.cuh"

namespace weft {

enum class Kind : u32 { queue, bitmap, bytemap, counter };
enum class Compaction : u32 { online, ballot, batch, atomic, jit };

// What keeps a vertex from being emitted again: nothing; a bit, tested and set without an atomic;
// a hash table of recent vertices, per block or per warp; an exchange of its stamp; a proof.
enum class Dedup : u32 { none, bitmask, history, warp, exact, proven };

constexpr u32 history_entries = 1024;  // of a block's table
constexpr u32 warp_entries = 64;       // of a warp's

WEFT_DEVICE constexpr bool has_bins(Kind kind, Compaction compaction) {
    return kind == Kind::queue &&
           (compaction == Compaction::online || compaction == Compaction::batch ||
            compaction == Compaction::jit);
}

// The filter that emit itself applies.
WEFT_DEVICE constexpr Dedup filter_of(Kind kind, Compaction compaction, Dedup dedup) {
    return kind == Kind::queue && compaction == Compaction::batch ? Dedup::none : dedup;
}

WEFT_DEVICE constexpr u64 table_entries(Dedup filter, u32 block) {
    return filter == Dedup::history ? history_entries
           : filter == Dedup::warp  ? static_cast<u64>(block / warp_size) * warp_entries
                                    : 0;
}

// Entries of the bin of a class. Where there are four they share the room of one: the low degrees,
// which are the most frequent, have half of it, the next ones a quarter.
WEFT_DEVICE constexpr u32 bin_room(u32 classes, u32 of_class, u32 bin_size) {
    if (classes == 1) return bin_size;
    const u32 share = bin_size >> (of_class < 3 ? of_class + 1 : 3);
    return share > 0 ? share : 1;
}
// And of the bins before it; of all, after the last class.
WEFT_DEVICE constexpr u32 bins_before(u32 classes, u32 of_class, u32 bin_size) {
    u32 entries = 0;
    for (u32 c = 0; c < of_class; ++c) entries += bin_room(classes, c, bin_size);
    return entries;
}

// Bytes of shared memory that an output needs: counts and first places of the bins, table, bins,
// totals of the warps. frontiers/base.py has the same formula.
WEFT_DEVICE constexpr u64 output_bytes(Kind kind, Compaction compaction, Dedup dedup, u32 classes,
                                       u32 bin_size, u32 block, u32 vertex_bytes) {
    const Dedup filter = filter_of(kind, compaction, dedup);
    const u64 bins = static_cast<u64>(bins_before(classes, classes, bin_size)) * vertex_bytes;
    return (has_bins(kind, compaction) ? 16 * classes + whole_units(bins) : 0) +
           table_entries(filter, block) * vertex_bytes + block / warp_size * 16;
}

template <class Vertex, Kind kind, Compaction compaction, Dedup dedup, u32 classes>
struct Output {
    static_assert(classes == 1 || classes == 4, "one queue, or one per degree class");

    static constexpr u32 num_classes = classes;

    Vertex* queue;          // a stretch of places for each class, the first from the beginning on
    i64 capacity;           // of the first
    u32* stamps;            // one per vertex: stamps[v] == epoch says that v is in
    u32 epoch;
    u32* bitmap;            // of Kind::bitmap or Dedup::bitmask; all zero before the phase
    u8* bytemap;            // of Kind::bytemap; all zero before the phase
    u64* cells;             // counters of this phase
    unsigned char* shared;  // output_bytes(...) bytes, 16-byte aligned
    u32 bin_size;           // entries of a block's bins
    u32 warp_degree, block_degree, grid_degree;  // where the classes 1, 2 and 3 begin
    u32 emitted = 0;  // by this thread; a warp emits less than 2^32 times in a phase
    u64 edges = 0;
    u32 looked = 0;  // arcs from which this thread emitted, where degrees are not asked for
    // Where the stretches of the other classes begin, and the last one ends.
    i64 class_1 = capacity, class_2 = 2 * capacity, class_3 = 3 * capacity, class_4 = 4 * capacity;

    static constexpr Dedup filter = filter_of(kind, compaction, dedup);
    static constexpr bool exact = filter == Dedup::exact;
    static constexpr bool hashed = filter == Dedup::history || filter == Dedup::warp;
    static constexpr bool binned = has_bins(kind, compaction);
    static constexpr bool straight = kind == Kind::queue && (compaction == Compaction::online ||
                                                             compaction == Compaction::batch ||
                                                             compaction == Compaction::atomic);
    // Vertices are marked when they found no place, or always.
    static constexpr bool marks_late =
        straight && (compaction == Compaction::batch || dedup == Dedup::proven);
    static constexpr bool marks = kind == Kind::queue && !exact && !marks_late;
    // Degrees decide nothing about the bin: they are asked for all of its entries at once, at the
    // end, and no emitting lane waits for them.
    static constexpr bool counts_late = binned && straight && classes == 1;

    WEFT_DEVICE void begin() {
        emitted = 0;
        edges = 0;
        if constexpr (binned) {
            if (thread_id() < 2 * classes) counts()[thread_id()] = 0;
        }
        if constexpr (hashed) {
            const u64 entries = table_entries(filter, block_size());
            for (u64 i = thread_id(); i < entries; i += block_size()) {
                table()[i] = static_cast<Vertex>(-1);
            }
        }
        sync_block();
    }

    // degree_of(v) is asked once, now or at the end, and only if v is not known to be in.
    template <class DegreeOf>
    WEFT_DEVICE void emit_lazily(i64 v, const DegreeOf& degree_of) {
        if (!admit(v)) return;
        if constexpr (counts_late) {
            const u32 place = place_in_bin(counts(), active_mask());
            if (place < bin_size) {
                bins()[place] = static_cast<Vertex>(v);
                degree_of.expect(v);
                return;
            }
        }
        const i64 degree = degree_of(v);
        emitted += 1;
        edges += static_cast<u64>(degree);
        if constexpr (counts_late) {
            append(v, 0);
        } else if constexpr (binned) {
            put_in_bin(v, class_of(degree));
        } else if constexpr (straight) {
            append(v, class_of(degree));
        }
    }

    // Those of some vertices that are `in`, which take their places, in the bin and beyond it, by one
    // atomic each: those of a thread, or of all threads of a warp that come together, where they had
    // to wait for stamps.
    template <class Id, u32 count, class DegreeOf>
    WEFT_DEVICE void emit_batch(const Id (&vertices)[count], bool (&in)[count],
                                const DegreeOf& degree_of) {
        if constexpr (!counts_late) {
            WEFT_UNROLL(count)
            for (u32 k = 0; k < count; ++k) {
                if (in[k]) emit_lazily(vertices[k], degree_of);
            }
        } else {
            admit_batch(vertices, in);
            const u32 here = exact ? active_mask() : 0;
            u32 own[count], wanted = 0;
            WEFT_UNROLL(count)
            for (u32 k = 0; k < count; ++k) {
                own[k] = wanted;
                if constexpr (exact) {
                    const u32 lanes = ballot(here, in[k]);
                    own[k] += popcount(lanes & lanes_below());
                    wanted += popcount(lanes);
                } else {
                    wanted += in[k];
                }
            }
            if (wanted == 0) return;
            const u32 leader = exact ? ffs(here) - 1 : lane_id();
            u32 first = 0;
            if (lane_id() == leader) first = atomic_add(counts(), wanted);
            if constexpr (exact) first = shuffle(here, first, leader);
            const u32 room = first > bin_size ? first : bin_size;  // places from here on are none
            u64 beyond = 0;
            if (first + wanted > room) {
                if (lane_id() == leader) beyond = atomic_add(cells + TAIL, first + wanted - room);
                if constexpr (exact) beyond = shuffle(here, beyond, leader);
            }
            WEFT_UNROLL(count)
            for (u32 k = 0; k < count; ++k) {
                if (!in[k]) continue;
                degree_of.expect(vertices[k]);
                const u32 place = first + own[k];
                if (place < bin_size) {
                    bins()[place] = static_cast<Vertex>(vertices[k]);
                } else {
                    emitted += 1;
                    edges += static_cast<u64>(degree_of(vertices[k]));
                    keep(list(0).put(beyond + (place - room), vertices[k]), vertices[k]);
                }
            }
        }
    }

    // Between emissions, by all threads of the block, each of which emits once before the next call
    // at most: a bin that could run out is appended to the queue as a whole. Else all warps would
    // append to it by one counter, which is slow.
    template <class DegreeOf>
    WEFT_DEVICE void relieve(const DegreeOf& degree_of) {
        if constexpr (counts_late) {
            // While one thread looks, others may still emit; and then each may once more.
            const u32 coming = 2 * block_size();
            if (coming > bin_size) return;
            const bool looks = thread_id() == 0;
            if (!sync_block_or(looks && load_volatile(counts()) + coming > bin_size)) return;
            append_bin(degree_of);
            sync_block();
            flush();
            sync_block();
            if (looks) counts()[0] = 0;
            sync_block();
        }
    }

    template <class DegreeOf>
    WEFT_DEVICE void end(const DegreeOf& degree_of) {
        if constexpr (!DegreeOf::counts) {
            end_uncounted();
        } else if constexpr (counts_late) {
            end_late(degree_of);
        } else {
            sum_up();
            if constexpr (binned) take_places();
            publish();
            if constexpr (binned) {
                sync_block();
                flush();
            }
        }
    }

 private:
    WEFT_DEVICE u32* counts() const { return reinterpret_cast<u32*>(shared); }
    WEFT_DEVICE u64* firsts() const { return reinterpret_cast<u64*>(shared + 8 * classes); }
    WEFT_DEVICE Vertex* table() const {
        return reinterpret_cast<Vertex*>(shared + (binned ? 16 * classes : 0));
    }
    WEFT_DEVICE Vertex* bins() const { return table() + table_entries(filter, block_size()); }
    WEFT_DEVICE u64* totals() const {
        const u64 bytes = binned ? whole_units(u64(before(classes)) * sizeof(Vertex)) : 0;
        return reinterpret_cast<u64*>(reinterpret_cast<unsigned char*>(bins()) + bytes);
    }

    WEFT_DEVICE u32 room(u32 of_class) const { return bin_room(classes, of_class, bin_size); }
    WEFT_DEVICE u32 before(u32 of_class) const { return bins_before(classes, of_class, bin_size); }

    WEFT_DEVICE u32 class_of(i64 degree) const {
        if (classes == 1) return 0;
        return (degree >= warp_degree) + (degree >= block_degree) + (degree >= grid_degree);
    }

    // Whether v is to be emitted, by whatever keeps duplicates out; and the marks on the way.
    WEFT_DEVICE bool admit(i64 v) {
        if constexpr (hashed) {
            if (seen(v)) return false;
        }
        if constexpr (kind == Kind::bitmap) return set_bit(v);
        if constexpr (exact) {
            if (!claim(v)) return false;
        }
        if constexpr (kind == Kind::bytemap) {
            if (filter == Dedup::bitmask && load_relaxed(bytemap + v) != 0) return false;
            store_relaxed(bytemap + v, 1);
        } else if constexpr (filter == Dedup::bitmask) {
            if (!set_bit_loosely(v)) return false;
        }
        if constexpr (marks) store_relaxed(stamps + v, epoch);
        return true;
    }

    // The same for some vertices; no stamp is awaited before the next is exchanged.
    template <class Id, u32 count>
    WEFT_DEVICE void admit_batch(const Id (&vertices)[count], bool (&in)[count]) {
        if constexpr (exact && !hashed && kind == Kind::queue) {
            u32 before[count];
            WEFT_UNROLL(count)
            for (u32 k = 0; k < count; ++k) {
                before[k] = epoch;
                if (in[k]) before[k] = atomic_exch(stamps + vertices[k], epoch);
            }
            WEFT_UNROLL(count)
            for (u32 k = 0; k < count; ++k) in[k] = before[k] != epoch;
        } else {
            WEFT_UNROLL(count)
            for (u32 k = 0; k < count; ++k) in[k] = in[k] && admit(vertices[k]);
        }
    }

    // Without a look before: the caller has just changed the vertex, and mostly is the first. With
    // it on large graphs whose frontiers are wide, where many come and stamps are far away.
    WEFT_DEVICE bool claim(i64 v) {
#ifdef WEFT_LOOK_FIRST
        if (load_relaxed(stamps + v) == epoch) return false;
#endif
        return atomic_exch(stamps + v, epoch) != epoch;
    }

    // Whether the bit was not set before; where dedup is not exact, others may be told the same.
    WEFT_DEVICE bool set_bit(i64 v) {
        u32* const word = bitmap + (v >> 5);
        const u32 bit = 1u << (v & 31);
        if (dedup != Dedup::proven && (load_relaxed(word) & bit) != 0) return false;
        const u32 before = atomic_or(word, bit);
        return !exact || (before & bit) == 0;
    }

    // The store may undo bits that others set in the word meanwhile: a vertex more than once, never
    // one too few.
    WEFT_DEVICE bool set_bit_loosely(i64 v) {
        u32* const word = bitmap + (v >> 5);
        const u32 bit = 1u << (v & 31);
        const u32 before = load_relaxed(word);
        if ((before & bit) != 0) return false;
        store_relaxed(word, before | bit);
        return true;
    }

    WEFT_DEVICE bool seen(i64 v) {
        constexpr bool per_warp = filter == Dedup::warp;
        constexpr u32 entries = per_warp ? warp_entries : history_entries;
        Vertex* const entry =
            table() + (per_warp ? warp_id() * entries : 0) + (static_cast<u64>(v) % entries);
        if (load_volatile(entry) == static_cast<Vertex>(v)) return true;
        store_volatile(entry, static_cast<Vertex>(v));
        return false;
    }

    WEFT_DEVICE List<Vertex> list(u32 of_class) const {
        const i64 begin = classes == 1 || of_class == 0 ? 0
                          : of_class == 1               ? class_1
                          : of_class == 2               ? class_2
                                                        : class_3;
        const i64 end = classes == 1    ? capacity
                        : of_class == 0 ? class_1
                        : of_class == 1 ? class_2
                        : of_class == 2 ? class_3
                                        : class_4;
        return {queue + begin, end - begin, cells + TAIL + of_class, cells + OVERFLOW};
    }

    WEFT_DEVICE void put_in_bin(i64 v, u32 of_class) {
        const u32 here = active_mask();
        const u32 lanes = classes == 1 ? here : match_any(here, of_class);
        const u32 place = place_in_bin(counts() + of_class, lanes);
        if (place < room(of_class)) {
            bins()[before(of_class) + place] = static_cast<Vertex>(v);
        } else if constexpr (straight) {
            append(v, of_class);
        }
    }

    WEFT_DEVICE void append(i64 v, u32 of_class) {
        const u32 here = active_mask();
        const u32 lanes = classes == 1 ? here : match_any(here, of_class);
        keep(list(of_class).append(v, lanes), v);
    }

    WEFT_DEVICE void keep(bool placed, i64 v) {
        if constexpr (marks_late) {
            if (!placed) store_relaxed(stamps + v, epoch);
        }
    }

    template <class DegreeOf>
    WEFT_DEVICE void end_late(const DegreeOf& degree_of) {
        sync_block();
        append_bin(degree_of);
        sum_up();
        publish();
        flush();
    }

    // Nothing but the queue, and the arcs that were looked at: of each block one number, whose place
    // is beside the count of its bin.
    WEFT_DEVICE void end_uncounted() {
        static_assert(counts_late, "degrees may be asked for later where one bin is all there is");
        const u32 arcs = reduce_add(full_mask, looked);
        if (lane_id() == 0 && arcs != 0) atomic_add(counts() + 1, arcs);
        sync_block();
        if (thread_id() == 0) {
            const u32 held = held_in_bin(counts()[0], bin_size);
            if (held > 0) firsts()[0] = atomic_add(cells + TAIL, held);
            if (counts()[1] != 0) atomic_add(cells + LOOKED, counts()[1]);
        }
        sync_block();
        flush();
    }

    // The degrees of what is in the bin are asked for while its places in the queue are on their way.
    template <class DegreeOf>
    WEFT_DEVICE void append_bin(const DegreeOf& degree_of) {
        const u32 held = held_in_bin(counts()[0], bin_size);
        const bool takes = thread_id() == 0 && held > 0;
        u64 first = 0;
        if (takes) first = atomic_add(cells + TAIL, held);
        for (u32 i = thread_id(); i < held; i += block_size()) {
            emitted += 1;
            edges += static_cast<u64>(degree_of(bins()[i]));
        }
        if (takes) firsts()[0] = first;
    }

    // What the threads counted, by warp, for all. Ends with a block barrier.
    WEFT_DEVICE void sum_up() {
        u64* const sums = totals();
        const u32 warp_emitted = reduce_add(full_mask, emitted);
        const u64 warp_edges = reduce_counts(edges);
        if (lane_id() == 0) {
            sums[2 * warp_id()] = warp_emitted;
            sums[2 * warp_id() + 1] = warp_edges;
        }
        sync_block();
    }

    // A thread per class takes the places of its bin.
    WEFT_DEVICE void take_places() {
        if (thread_id() >= classes) return;
        const u32 asked = counts()[thread_id()];
        const u32 held = held_in_bin(asked, room(thread_id()));
        if (!straight && asked > held) store_relaxed(cells + OVERFLOW, 1);
        if (held > 0) firsts()[thread_id()] = atomic_add(cells + TAIL + thread_id(), held);
    }

    WEFT_DEVICE void publish() const {
        if (warp_id() != 0) return;
        const u64* const sums = totals();
        const bool mine = lane_id() < block_size() / warp_size;
        const u64 vertices = reduce_counts(mine ? sums[2 * lane_id()] : 0);
        const u64 arcs = reduce_counts(mine ? sums[2 * lane_id() + 1] : 0);
        if (lane_id() != 0 || vertices == 0) return;
        atomic_add(cells + EMITTED, vertices);
        if (arcs != 0) atomic_add(cells + EDGES, arcs);
    }

    WEFT_DEVICE void flush() {
        for (u32 c = 0; c < classes; ++c) {
            const u32 asked = counts()[c];
            const u32 held = held_in_bin(asked, room(c));
            if (!straight && asked > held) continue;  // The queue will be rebuilt.
            const u64 first = firsts()[c];
            for (u32 i = thread_id(); i < held; i += block_size()) {
                const Vertex v = bins()[before(c) + i];
                keep(list(c).put(first + i, v), v);
            }
        }
    }
};

}  // namespace weft

#endif
