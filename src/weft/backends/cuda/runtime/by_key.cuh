// Gathers by key, each row by a team that suits its length: a thread, a warp or a block.
//
// A team keeps an entry (key, value) for every key of its row: a thread in a list, the others in a
// hash table into which all lanes put what their arcs bring. Then the lanes share the entries, and
// what they make of them meets in one of them. Three phases, with a barrier over all blocks between:
//
//   gather_rows       threads take the short rows and warps the next ones; the others are listed
//   gather_long       blocks take listed rows, with a table in shared memory; where it proves too
//                     small for the keys that turn up, the row is listed again
//   gather_longest    blocks take those, each with a table in global memory
//
// Rows are known by their place in the frontier. The generated `Ops` have
//
//   Key, Stored, Partial         types of keys, of values as they are kept, of what entries come to
//   partial_bytes                of shared memory for a Partial, as the host counted
//   in_order                     values combine in an order that does not change from run to run
//   counts                       every arc brings 1, and values add up
//   sorts                        entries come in ascending order of keys
//   writes                       they become records: `write` takes the place of `consume` and `close`
//   i64 vertex(i), length(v)     the vertex at a place, and the most arcs (or paths) that it has
//   walk(v, table)               put what the arcs bring into a table, `batch` arcs of a lane and
//                                those of `width` lanes at a time
//   Stored neutral()             what changes no value
//   Stored combine(x, y)         two values
//   update(Stored*, at, x)       the same of an element that others update, too
//   Partial consume(v, table, first, step)       what every step-th entry comes to
//   merge(into, other), close(i, partial)
//   write(v, entries)            by a thread or by a warp in step
#ifndef WEFT_BY_KEY_CUH
#define WEFT_BY_KEY_CUH

#include "memory.cuh"
#include "sweep.cuh"

namespace weft {

constexpr u32 few_arcs = 8;               // of the longest row that one thread takes
constexpr u32 warp_table_bytes = 4096;    // of shared memory for the entries of a warp
constexpr u32 spare_table_bytes = 32;     // for the place beyond the last, twice, and aligning
constexpr i64 least_places = 32;
constexpr u32 most_probes = 128;          // of a table that may be too small

template <u32 bytes>
struct WordOfKey {
    using type = u32;
};
template <>
struct WordOfKey<8> {
    using type = u64;
};
template <class Key>
using KeyWord = typename WordOfKey<sizeof(Key)>::type;
// The word of a free place. The key that has it lies at the place beyond the last.
template <class Key>
constexpr KeyWord<Key> no_key = KeyWord<Key>(1) << (8 * sizeof(KeyWord<Key>) - 1);

// How many entries a warp's table in shared memory has, a power of two.
template <class Ops>
WEFT_DEVICE constexpr i64 warp_places() {
    i64 places = least_places;
    while (2 * places * (sizeof(KeyWord<typename Ops::Key>) + sizeof(typename Ops::Stored)) <=
           warp_table_bytes) {
        places *= 2;
    }
    return places;
}
// How many of them keys may take: what is fuller is searched for long.
WEFT_DEVICE constexpr i64 usable(i64 places) { return places / 4 * 3; }

// The places of a table for so many entries, if there are no more than `most`.
WEFT_DEVICE i64 places_for(i64 entries, i64 most) {
    i64 places = least_places;
    while (places < most && usable(places) < entries) places *= 2;
    return places;
}

// The entries of a row that one thread gathers, in the order of their first arcs.
template <class Ops>
struct FewEntries {
    using Key = typename Ops::Key;
    using Stored = typename Ops::Stored;
    Key keys[few_arcs];
    Stored values[few_arcs];
    u32 count = 0;

    static constexpr u32 width = 1, batch = 4;
    WEFT_DEVICE u32 lane() const { return 0; }
    WEFT_DEVICE u32 rank() const { return 0; }
    WEFT_DEVICE u32 ranks() const { return 1; }
    WEFT_DEVICE bool goes_on() const { return true; }
    WEFT_DEVICE i64 places() const { return count; }
    WEFT_DEVICE bool has(i64) const { return true; }
    WEFT_DEVICE Key key(i64 at) const { return keys[at]; }
    WEFT_DEVICE Stored value(i64 at) const { return values[at]; }

    WEFT_DEVICE void add(const Ops& ops, bool brings, Key key, Stored value) {
        if (!brings) return;
        u32 at = 0;
        while (at < count && keys[at] != key) ++at;
        keys[at] = key;
        values[at] = at < count ? ops.combine(values[at], value) : value;
        if (at == count) ++count;
    }
    WEFT_DEVICE void sort() {
        for (u32 i = 1; i < count; ++i) {
            const Key key = keys[i];
            const Stored value = values[i];
            u32 at = i;
            for (; at > 0 && key < keys[at - 1]; --at) {
                keys[at] = keys[at - 1];
                values[at] = values[at - 1];
            }
            keys[at] = key;
            values[at] = value;
        }
    }
};

// The values of lanes that have the same key, in the first of these; the lanes `here` call.
template <class T, class Combine>
WEFT_DEVICE T combine_peers(u32 here, u32 peers, T value, Combine combine) {
    u32 rank = popcount(peers & ((1u << lane_id()) - 1));
    u32 later = peers & (0xfffffffeu << lane_id());
    while (any(here, later != 0)) {
        const u32 next = ffs(later);
        const T other = shuffle_any(here, value, next == 0 ? lane_id() : next - 1);
        if (next != 0) value = combine(value, other);
        later &= ballot(here, (rank & 1) == 0);  // the others have given what they had
        rank /= 2;
    }
    return value;
}

// A hash table of the row of a warp, or of a block whose warps are the ranks. Lanes add in step;
// what was added is seen after a barrier of the team.
template <class Ops, bool may_overflow>
struct TeamTable {
    using Key = typename Ops::Key;
    using Stored = typename Ops::Stored;
    using Word = KeyWord<Key>;
    Word* words;
    Stored* values;
    i64 size;  // a power of two; there is one place more
    u32 my_rank, all_ranks;
    u32* full;  // set by a lane that found no place
    bool lacks_room = false;

    static constexpr u32 width = warp_size, batch = 4;
    WEFT_DEVICE u32 lane() const { return lane_id(); }
    WEFT_DEVICE u32 rank() const { return my_rank; }
    WEFT_DEVICE u32 ranks() const { return all_ranks; }
    WEFT_DEVICE bool goes_on() const {
        if constexpr (may_overflow) return !any(full_mask, load_relaxed(full) != 0);
        else return true;
    }
    WEFT_DEVICE i64 places() const { return size + 1; }
    WEFT_DEVICE bool has(i64 at) const { return load_relaxed(words + at) != no_key<Key>; }
    WEFT_DEVICE Key key(i64 at) const {
        return static_cast<Key>(at == size ? no_key<Key> : load_relaxed(words + at));
    }
    WEFT_DEVICE Stored value(i64 at) const { return load_relaxed(values + at); }

    WEFT_DEVICE void clear(const Ops& ops, u32 member, u32 members) {
        for (i64 at = member; at <= size; at += members) {
            words[at] = no_key<Key>;
            values[at] = ops.neutral();
        }
    }

    // The place of a key, taken now if it has none; -1 where none is found in time.
    WEFT_DEVICE i64 place_of(Word word WEFT_HERE) {
        if (word == no_key<Key>) {
            store_relaxed(words + size, Word(0) WEFT_PASS);  // anything else
            return size;
        }
        constexpr u64 multiplier = 0x9E3779B97F4A7C15ull;  // 2^64 divided by the golden ratio, odd
        i64 at = static_cast<i64>((static_cast<u64>(word) * multiplier) >> 32) & (size - 1);
        for (u32 probes = 0; !may_overflow || probes < most_probes; ++probes) {
            Word held = load_relaxed(words + at WEFT_PASS);
            if (held == no_key<Key>) {
                held = atomic_cas(words + at, no_key<Key>, word WEFT_PASS);
                if (held == no_key<Key>) return at;
            }
            if (held == word) return at;
            at = (at + 1) & (size - 1);
        }
        return -1;
    }

    // One entry of each lane that brings one. Those with the same key meet first, so that no two
    // lanes of a warp update the same place: few keys make no queue.
    WEFT_DEVICE void add(const Ops& ops, bool brings, Key key, Stored value WEFT_HERE) {
        const u32 here = ballot(full_mask, brings WEFT_PASS);
        if (here == 0) return;
        if (brings) {
            const Word word = static_cast<Word>(key);
            const u32 peers = match_any(here, word WEFT_PASS);
            const auto combine = [&](Stored x, Stored y) { return ops.combine(x, y); };
            if constexpr (Ops::counts) value = static_cast<Stored>(popcount(peers));
            else value = combine_peers(here, peers, value, combine);
            if (ffs(peers) == lane_id() + 1) put(ops, word, value WEFT_PASS);
        }
        if constexpr (Ops::in_order) sync_warp(full_mask WEFT_PASS);
    }
    WEFT_DEVICE void put(const Ops& ops, Word word, Stored value WEFT_HERE) {
        const i64 at = place_of(word WEFT_PASS);
        if (may_overflow && at < 0) {
            lacks_room = true;
            store_relaxed(full, 1u WEFT_PASS);
        } else if constexpr (Ops::in_order) {  // by one warp, a barrier after each of its steps
            store_relaxed(values + at, ops.combine(load_relaxed(values + at), value) WEFT_PASS);
        } else {
            ops.update(values, at, value);
        }
    }
};

// The entries of a table one after another, by key.
template <class Ops>
struct SortedEntries {
    using Key = typename Ops::Key;
    using Stored = typename Ops::Stored;
    using Word = KeyWord<Key>;
    Word* words;
    Stored* values;
    i64 count;

    static constexpr u32 width = warp_size;
    WEFT_DEVICE u32 lane() const { return lane_id(); }
    WEFT_DEVICE i64 places() const { return count; }
    WEFT_DEVICE bool has(i64) const { return true; }
    WEFT_DEVICE Key key(i64 at) const { return static_cast<Key>(words[at]); }
    WEFT_DEVICE Stored value(i64 at) const { return values[at]; }
};

// Move the entries of a table to its first places, by one warp; returns how many there are.
template <class Table>
WEFT_DEVICE i64 move_together(Table& table) {
    i64 count = 0;
    for (i64 first = 0; first < table.places(); first += warp_size) {
        const i64 at = first + lane_id();
        const bool has = at < table.places() && table.has(at);
        const auto word = static_cast<typename Table::Word>(has ? table.key(at) : 0);
        const auto value = has ? table.value(at) : typename Table::Stored{};
        const u32 here = ballot(full_mask, has);
        sync_warp(full_mask);  // all have read
        if (has) {
            const i64 to = count + popcount(here & ((1u << lane_id()) - 1));
            table.words[to] = word;
            table.values[to] = value;
        }
        sync_warp(full_mask);
        count += popcount(here);
    }
    return count;
}

// Sort entries by a network that never moves a larger key down: what lies beyond the last one counts
// as larger than all. `sync` is a barrier of the team.
template <class Ops, class Sync>
WEFT_DEVICE void sort_together(SortedEntries<Ops>& entries, u32 member, u32 members, Sync sync) {
    using Word = typename SortedEntries<Ops>::Word;
    using Stored = typename Ops::Stored;
    for (i64 whole = 2; whole / 2 < entries.count; whole *= 2) {
        for (i64 half = whole / 2; half > 0; half /= 2) {
            for (i64 pair = member;; pair += members) {
                const i64 low = pair / half * 2 * half + pair % half;
                if (low >= entries.count) break;
                const i64 high = half == whole / 2 ? (low ^ (whole - 1)) : low + half;
                if (high >= entries.count || !(entries.key(high) < entries.key(low))) continue;
                const Word word = entries.words[low];
                const Stored value = entries.values[low];
                entries.words[low] = entries.words[high];
                entries.values[low] = entries.values[high];
                entries.words[high] = word;
                entries.values[high] = value;
            }
            sync();
        }
    }
}

// Where the records of a lane begin among those of its warp, and how many these are.
template <class Entries>
WEFT_DEVICE i64 records_before(const Entries&, i64 own, i64* all) {
    if constexpr (Entries::width == 1) {
        *all = own;
        return 0;
    } else {
        i64 sum = own;
        for (u32 step = 1; step < warp_size; step *= 2) {
            const i64 before = shuffle_up(full_mask, sum, step);
            if (lane_id() >= step) sum += before;
        }
        *all = shuffle(full_mask, sum, warp_size - 1);
        return sum - own;
    }
}

// What the lanes of a warp made of their entries, in the first one.
template <class Ops>
WEFT_DEVICE void meet_in_warp(const Ops& ops, typename Ops::Partial& partial) {
    for (u32 stride = 1; stride < warp_size; stride *= 2) {
        const u32 from = lane_id() + stride < warp_size ? lane_id() + stride : lane_id();
        const typename Ops::Partial later = shuffle_any(full_mask, partial, from);
        if (lane_id() % (2 * stride) == 0) ops.merge(partial, later);
    }
}

// What a block keeps in shared memory ahead of its tables.
struct Claim {
    i64 number;  // of the row that it works on; then of its entries
    u32 full;
    u32 unused;
};
template <class Ops>
WEFT_DEVICE unsigned char* tables_of(const Place& place) {
    static_assert(sizeof(Claim) == 16 && Ops::partial_bytes % 16 == 0, "tables are aligned");
    return place.shared + sizeof(Claim) + block_size() / warp_size * Ops::partial_bytes;
}
template <class Ops, bool may_overflow>
WEFT_DEVICE TeamTable<Ops, may_overflow> table_at(unsigned char* memory, i64 size, u32 rank,
                                                  u32 ranks, u32* full) {
    using Word = KeyWord<typename Ops::Key>;
    const i64 word_bytes = (static_cast<i64>(sizeof(Word)) * (size + 1) + 7) / 8 * 8;
    return {reinterpret_cast<Word*>(memory),
            reinterpret_cast<typename Ops::Stored*>(memory + word_bytes), size, rank, ranks, full};
}

// Not a generic lambda: some compilers take those for functions of the host.
template <class Ops, class Entries>
WEFT_DEVICE void finish_by_warp(const Ops& ops, i64 i, i64 v, const Entries& entries) {
    if constexpr (Ops::writes) {
        ops.write(v, entries);
    } else {
        typename Ops::Partial partial = ops.consume(v, entries, lane_id(), warp_size);
        meet_in_warp(ops, partial);
        if (lane_id() == 0) ops.close(i, partial);
    }
}

template <class Ops>
WEFT_DEVICE void gather_by_warp(const Place& place, const Ops& ops, i64 i, i64 v, i64 length) {
    unsigned char* const memory =
        tables_of<Ops>(place) + warp_id() * (warp_table_bytes + spare_table_bytes);
    auto table = table_at<Ops, false>(memory, places_for(length, warp_places<Ops>()), 0, 1, nullptr);
    table.clear(ops, lane_id(), warp_size);
    sync_warp(full_mask);
    ops.walk(v, table);
    sync_warp(full_mask);
    if constexpr (Ops::sorts) {
        const i64 count = move_together(table);
        SortedEntries<Ops> entries{table.words, table.values, count};
        sort_together(entries, lane_id(), warp_size, [] { sync_warp(full_mask); });
        finish_by_warp(ops, i, v, entries);
    } else {
        finish_by_warp(ops, i, v, table);
    }
    sync_warp(full_mask);
}

// A row by a thread.
template <class Ops>
WEFT_DEVICE void gather_by_thread(const Ops& ops, i64 i, i64 v) {
    FewEntries<Ops> entries;
    ops.walk(v, entries);
    if constexpr (Ops::sorts) entries.sort();
    if constexpr (Ops::writes) {
        ops.write(v, entries);
    } else {
        typename Ops::Partial partial = ops.consume(v, entries, 0, 1);
        ops.close(i, partial);
    }
}

// Each warp takes 32 rows at a time. Cell 0 counts the rows that are listed.
template <class Ops, class Id>
WEFT_DEVICE void gather_rows(const Place& place, i64 size, const Ops& ops, Id* listed) {
    constexpr i64 most_by_warp = usable(warp_places<Ops>());
    const i64 step = static_cast<i64>(place.blocks) * block_size();
    for (i64 first = static_cast<i64>(place.block) * block_size() + warp_id() * warp_size;
         first < size; first += step) {
        const i64 i = first + lane_id();
        const i64 v = i < size ? ops.vertex(i) : 0;
        const i64 length = i < size ? ops.length(v) : 0;
        if (i < size && length <= few_arcs) gather_by_thread(ops, i, v);
        if (length > most_by_warp) {
            listed[atomic_add(place.cells, u64(1))] = static_cast<Id>(i);
        }
        u32 left = ballot(full_mask, length > few_arcs && length <= most_by_warp);
        for (; left != 0; left &= left - 1) {
            const u32 lane = ffs(left) - 1;
            gather_by_warp(place, ops, first + lane, shuffle(full_mask, v, lane),
                           shuffle(full_mask, length, lane));
        }
    }
}

// The next row of a list for the block, or -1: cell 1 counts those that were taken.
WEFT_DEVICE i64 claim_row(const Place& place, Claim* claim, i64 rows) {
    if (thread_id() == 0) {
        claim->number = static_cast<i64>(atomic_add(place.cells + 1, u64(1)));
        claim->full = 0;
    }
    sync_block();
    return claim->number < rows ? claim->number : -1;
}

// What entries come to, by a block.
template <class Ops, class Entries>
WEFT_DEVICE void finish_by_block(const Place& place, const Ops& ops, i64 i, i64 v,
                                 const Entries& entries) {
    using Partial = typename Ops::Partial;
    if constexpr (Ops::writes) {
        if (warp_id() == 0) ops.write(v, entries);
    } else {
        Partial partial = ops.consume(v, entries, thread_id(), block_size());
        meet_in_warp(ops, partial);
        unsigned char* const parts = place.shared + sizeof(Claim);
        if (lane_id() == 0) {
            *reinterpret_cast<Partial*>(parts + warp_id() * Ops::partial_bytes) = partial;
        }
        sync_block();
        if (thread_id() != 0) return;
        for (u32 warp = 1; warp < block_size() / warp_size; ++warp) {
            ops.merge(partial, *reinterpret_cast<Partial*>(parts + warp * Ops::partial_bytes));
        }
        ops.close(i, partial);
    }
}

// A row by a block, with a table that was not cleared. Whether there was room for all keys; if not,
// nothing has come of it.
template <class Ops, class Table>
WEFT_DEVICE bool gather_by_block(const Place& place, const Ops& ops, i64 i, i64 v, Table& table) {
    table.clear(ops, thread_id(), block_size());
    sync_block();
    if (table.rank() < table.ranks()) ops.walk(v, table);
    if (sync_block_or(table.lacks_room)) return false;
    if constexpr (Ops::sorts) {
        Claim* const claim = reinterpret_cast<Claim*>(place.shared);
        if (warp_id() == 0) {
            const i64 count = move_together(table);
            if (lane_id() == 0) claim->number = count;
        }
        sync_block();
        SortedEntries<Ops> entries{table.words, table.values, claim->number};
        sort_together(entries, thread_id(), block_size(), [] { sync_block(); });
        finish_by_block(place, ops, i, v, entries);
    } else {
        finish_by_block(place, ops, i, v, table);
    }
    return true;
}

// Listed rows by blocks. Those that need more room go into another list; cell 2 counts them.
template <class Ops, class Id>
WEFT_DEVICE void gather_long(const Place& place, const Ops& ops, const Id* listed, Id* again) {
    Claim* const claim = reinterpret_cast<Claim*>(place.shared);
    const i64 rows = static_cast<i64>(place.before[0]);
    const u32 ranks = Ops::in_order ? 1 : block_size() / warp_size;
    i64 most = warp_places<Ops>();
    for (u32 warps = 2; warps <= block_size() / warp_size; warps *= 2) most *= 2;
    for (i64 number = claim_row(place, claim, rows); number >= 0;
         number = claim_row(place, claim, rows)) {
        const i64 i = static_cast<i64>(listed[number]);
        const i64 v = ops.vertex(i);
        auto table = table_at<Ops, true>(tables_of<Ops>(place), places_for(ops.length(v), most),
                                         warp_id(), ranks, &claim->full);
        const bool done = gather_by_block(place, ops, i, v, table);
        if (!done && thread_id() == 0) {
            again[atomic_add(place.cells + 2, u64(1))] = static_cast<Id>(i);
        }
    }
}

// The rows that were listed again, by as many blocks as there are tables of `most` places.
template <class Ops, class Id, class Word, class Stored>
WEFT_DEVICE void gather_longest(const Place& place, const Ops& ops, const Id* again, Word* words,
                                Stored* values, i64 tables, i64 most) {
    if (static_cast<i64>(place.block) >= tables) return;
    Claim* const claim = reinterpret_cast<Claim*>(place.shared);
    const i64 rows = static_cast<i64>(place.before[2]);
    const u32 ranks = Ops::in_order ? 1 : block_size() / warp_size;
    const i64 first = place.block * (most + 1);
    for (i64 number = claim_row(place, claim, rows); number >= 0;
         number = claim_row(place, claim, rows)) {
        const i64 i = static_cast<i64>(again[number]);
        const i64 v = ops.vertex(i);
        TeamTable<Ops, false> table{words + first, values + first, places_for(ops.length(v), most),
                                    warp_id(), ranks, nullptr};
        gather_by_block(place, ops, i, v, table);
    }
}

}  // namespace weft

#endif
