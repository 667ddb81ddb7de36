// What schedules have in common: asking for rows, and walking one row by a group, a team or a block.
//
// `lanes` is the width of a group; lane i of a group only ever meets lane i of another one, so that
// a partial may be spread over the lanes of its group.
#ifndef WEFT_SHARING_CUH
#define WEFT_SHARING_CUH

#include "sweep.cuh"

namespace weft {

// A stretch of the slots of a row; `mark` is 0 if it is all of the row.
struct Share {
    i64 row;
    i64 begin;
    i64 degree;
    u32 mark;
};

// Whether one of a group says so. All lanes of the group ask together.
template <u32 lanes>
WEFT_DEVICE bool agree(bool predicate) {
    if constexpr (lanes == 0) return sync_block_or(predicate);
    else if constexpr (lanes == 1) return predicate;
    else return any(Group<lanes>::mask(), predicate);
}

// Whether a row is open, the same for all threads of a team inside a warp that share it, or of the
// block if `width` is 0. Another row of the same vertex may close it while they ask.
template <class Format, class Visitor>
WEFT_DEVICE bool open_together(Visitor& visitor, i64 row, u32 width) {
    const bool open = row >= 0 && visitor.open(row);
    if constexpr (!Format::splits) {
        return open;
    } else {
        if (width == 0) return sync_block_or(open);
        const u32 team = lane_id() / width * width;
        const u32 mask = width == warp_size ? full_mask : ((1u << width) - 1) << team;
        return any(mask, open);
    }
}

WEFT_DEVICE i64 scan_warp(i64 value) {
    for (u32 delta = 1; delta < warp_size; delta *= 2) {
        const i64 below = shuffle_up(full_mask, value, delta);
        if (lane_id() >= delta) value += below;
    }
    return value;
}

// The sum of what the threads before this one have; `total` is that of all. `totals` are 32 words
// of shared memory.
WEFT_DEVICE i64 scan_block(i64 value, i64* totals, i64& total) {
    const i64 sum = scan_warp(value);
    sync_block();  // The former totals are no longer read.
    if (lane_id() == warp_size - 1) totals[warp_id()] = sum;
    sync_block();
    i64 before = 0;
    total = 0;
    for (u32 warp = 0; warp < block_size() / warp_size; ++warp) {
        if (warp == warp_id()) before = total;
        total += totals[warp];
    }
    return before + sum - value;
}

// The row at a thread's place, or row -1 if there is none or it is not open. The places of a
// group are consecutive; its lanes ask for each of them together. With `closes`, rows without
// slots are closed at once.
template <u32 lanes, bool closes, class Format, class Rows, class Visitor>
WEFT_DEVICE Share ask_for_row(const Format& format, const Rows& rows, i64 place, i64 limit,
                              Visitor& visitor) {
    Share share = {-1, 0, 0, 0};
    if constexpr (!Visitor::asks && lanes > 0) {  // every thread for itself
        if (place < limit) share.row = rows.row(place);
        if (share.row >= 0) {
            share.begin = format.begin(share.row);
            share.degree = format.end(share.row) - share.begin;
        }
        if constexpr (closes && Visitor::collects) {
            const u32 group = lane_id() / lanes * lanes;
            u32 empty = share.row >= 0 && share.degree == 0 ? 1u << lane_id() : 0u;
            if constexpr (lanes > 1) empty = ballot(Group<lanes>::mask(), empty != 0);
            for (; empty != 0; empty &= empty - 1) {
                i64 row = share.row;
                if constexpr (lanes > 1) {
                    row = shuffle(Group<lanes>::mask(), row, ffs(empty) - 1 - group, lanes);
                }
                const typename Visitor::Row held = visitor.load(row);
                visitor.close(held, row, visitor.empty(held), true);
            }
        }
        return share;
    }
    const u32 width = lanes == 0 ? block_size() : lanes;
    const u32 lane = Group<lanes>::lane();
    const i64 first = place - lane;
    for (u32 i = 0; i < width && first + i < limit; ++i) {
        const i64 row = rows.row(first + i);
        if (row < 0 || !visitor.open(row)) continue;
        const i64 begin = format.begin(row);
        const i64 degree = format.end(row) - begin;
        if (i == lane) share = {row, begin, degree, 0};
        if constexpr (closes && Visitor::collects) {
            if (degree == 0) {
                const typename Visitor::Row held = visitor.load(row);
                visitor.close(held, row, visitor.empty(held), true);
            }
        }
    }
    return share;
}

// The partials of the groups in a team of `width` threads, merged; all of its groups get the whole.
template <u32 lanes, class Visitor>
WEFT_DEVICE void meet(Visitor& visitor, typename Visitor::Partial& partial, u32 mask, u32 width) {
    if constexpr (Visitor::collects && lanes > 0) {
        for (u32 stride = lanes; stride < width; stride *= 2) {
            const typename Visitor::Partial other =
                shuffle_any(mask, partial, lane_id() ^ stride);
            visitor.merge(partial, other);
        }
    }
}

// The same among neighbouring groups of a warp with the same key; the first of them gets the whole.
template <u32 lanes, class Key, class Visitor>
WEFT_DEVICE void meet_keyed(Visitor& visitor, typename Visitor::Partial& partial, Key key) {
    for (u32 stride = lanes; stride < warp_size; stride *= 2) {
        const u32 source = lane_id() + stride;
        const Key other_key = shuffle(full_mask, key, source % warp_size);
        const typename Visitor::Partial other =
            shuffle_any(full_mask, partial, source % warp_size);
        if (source < warp_size && other_key == key) visitor.merge(partial, other);
    }
}

// No other lane can end a row.
struct Unheard {
    WEFT_DEVICE bool raised() const { return false; }
    WEFT_DEVICE void raise() const {}
};
// A byte per row in global memory that tells all blocks.
struct ByteFlag {
    u8* byte;
    WEFT_DEVICE bool raised() const { return load_relaxed(byte) != 0; }
    WEFT_DEVICE void raise() const { store_relaxed(byte, 1); }
};
// A word in shared memory with the number of the last row that ended early: no need to clear it.
struct TurnFlag {
    u32* word;
    u32 turn;
    WEFT_DEVICE bool raised() const { return load_volatile(word) == turn; }
    WEFT_DEVICE void raise() const { store_volatile(word, turn); }
};

// Slots that a group takes one after another have their loads under way together.
constexpr u32 batch = 4;

// The targets of a batch of slots, then their messages: each stage waits for memory once. `left`
// tells how far the row still goes; beyond, nothing is fetched.
template <class Format, class Visitor, class Target>
WEFT_DEVICE void fetch_batch(const Format& format, Visitor& visitor,
                             const typename Visitor::Row& held, i64 row, i64 slot, u32 left,
                             u32 step, Target (&targets)[batch],
                             typename Visitor::Message (&messages)[batch]) {
    bool loaded = false;
    if constexpr (by_fours<Format>) {
        i64 four[batch];
        loaded = step == 1 && left == batch && format.four_targets(slot, row, four);
        WEFT_UNROLL(batch)
        for (u32 k = 0; k < batch; ++k) {
            if (loaded) targets[k] = static_cast<Target>(four[k]);
        }
    }
    WEFT_UNROLL(batch)
    for (u32 k = 0; k < batch; ++k) {
        if (!loaded && k * step < left) {
            targets[k] = static_cast<Target>(format.target(slot + k * step, row));
        }
    }
    WEFT_UNROLL(batch)
    for (u32 k = 0; k < batch; ++k) {
        if (k * step < left) {
            messages[k] = visitor.message_of(held, row, slot + k * step, targets[k]);
        }
    }
}

// The slots of one batch, all of them in one stage before any is in the next: targets, messages,
// swaps, and what became of them.
template <class Format, class Visitor>
WEFT_DEVICE void settle_batch(const Format& format, Visitor& visitor,
                              typename Visitor::Partial& partial,
                              const typename Visitor::Row& held, i64 row, i64 slot, u32 left,
                              u32 step) {
    i64 targets[batch];
    bool emits[batch];
    typename Visitor::Message messages[batch];
    fetch_batch(format, visitor, held, row, slot, left, step, targets, messages);
    // At once: counted arc by arc, their swaps would not be under way together.
    if constexpr (Visitor::counts) visitor.looked += (left + step - 1) / step;
    WEFT_UNROLL(batch)
    for (u32 k = 0; k < batch; ++k) {
        if (k * step < left) visitor.deliver(partial, held, row, slot + k * step, messages[k]);
    }
    WEFT_UNROLL(batch)
    for (u32 k = 0; k < batch; ++k) {
        emits[k] = k * step < left && visitor.settle(held, row, slot + k * step, messages[k]);
    }
    visitor.emit(targets, emits);
}

// A group takes every `step`-th slot, without a way to leave the row early.
template <class Format, class Visitor>
WEFT_DEVICE void take_batches(const Format& format, Visitor& visitor,
                              typename Visitor::Partial& partial,
                              const typename Visitor::Row& held, i64 row, i64 slot, i64 end,
                              u32 step) {
    if constexpr (Visitor::batches && Format::full_rows) {
        WEFT_UNROLL(1)
        for (; slot < end; slot += batch * step) {
            // Small numbers: they are compared by one instruction.
            const u32 left = static_cast<u32>(end - slot < batch * step ? end - slot : batch * step);
            if constexpr (Visitor::settles) {
                settle_batch(format, visitor, partial, held, row, slot, left, step);
                continue;
            }
            typename Visitor::Target targets[batch];
            typename Visitor::Message messages[batch];
            if constexpr (Visitor::computes) {
                // Without branches: else what is computed would wait for its loads before the next
                // ones are made. Beyond the end the first slot is taken again, and not delivered.
                WEFT_UNROLL(batch)
                for (u32 k = 0; k < batch; ++k) {
                    const i64 at = slot + (k * step < left ? k * step : 0);
                    targets[k] = static_cast<typename Visitor::Target>(format.target(at, row));
                }
                WEFT_UNROLL(batch)
                for (u32 k = 0; k < batch; ++k) {
                    const i64 at = slot + (k * step < left ? k * step : 0);
                    messages[k] = visitor.message_of(held, row, at, targets[k]);
                }
            } else {
                fetch_batch(format, visitor, held, row, slot, left, step, targets, messages);
            }
            if constexpr (Visitor::joins) visitor.template join<batch>(messages);
            WEFT_UNROLL(batch)
            for (u32 k = 0; k < batch; ++k) {
                if (k * step < left) {
                    visitor.deliver(partial, held, row, slot + k * step, messages[k]);
                }
            }
        }
    } else if constexpr (Visitor::batches && !Visitor::settles) {
        // Whether there is an arc at a slot is asked ahead of its target.
        WEFT_UNROLL(1)
        for (; slot < end; slot += batch * step) {
            bool there[batch];
            i64 targets[batch];
            typename Visitor::Message messages[batch];
            WEFT_UNROLL(batch)
            for (u32 k = 0; k < batch; ++k) {
                there[k] = slot + k * step < end && format.valid(slot + k * step, row);
            }
            WEFT_UNROLL(batch)
            for (u32 k = 0; k < batch; ++k) {
                if (there[k]) targets[k] = format.target(slot + k * step, row);
            }
            WEFT_UNROLL(batch)
            for (u32 k = 0; k < batch; ++k) {
                if (there[k]) {
                    messages[k] = visitor.message_of(held, row, slot + k * step, targets[k]);
                }
            }
            if constexpr (Visitor::joins) visitor.template join<batch>(messages);
            WEFT_UNROLL(batch)
            for (u32 k = 0; k < batch; ++k) {
                if (there[k]) visitor.deliver(partial, held, row, slot + k * step, messages[k]);
            }
        }
    } else {
        for (; slot < end; slot += step) {
            if (format.valid(slot, row)) visitor.take(partial, held, row, slot);
        }
    }
}

// A group takes every `step`-th slot.
template <u32 lanes, class Format, class Visitor, class Flag>
WEFT_DEVICE void take_every(const Format& format, Visitor& visitor,
                            typename Visitor::Partial& partial, const typename Visitor::Row& held,
                            i64 row, i64 slot, i64 end, u32 step, const Flag& flag) {
    if constexpr (!Visitor::exits) {
        take_batches(format, visitor, partial, held, row, slot, end, step);
        return;
    }
    for (; slot < end; slot += step) {
        if constexpr (Visitor::exits) {
            if (agree<lanes>(flag.raised())) return;
        }
        if (!format.valid(slot, row)) continue;
        if (visitor.take(partial, held, row, slot) && Visitor::exits) {
            flag.raise();
            return;
        }
    }
}

// The same where no other group works on the row; returns whether the visitor asked to leave it.
template <class Format, class Visitor>
WEFT_DEVICE bool take_alone(const Format& format, Visitor& visitor,
                            typename Visitor::Partial& partial, const typename Visitor::Row& held,
                            i64 row, i64 slot, i64 end) {
    if constexpr (!Visitor::exits) {
        take_batches(format, visitor, partial, held, row, slot, end, 1);
        return false;
    }
    for (; slot < end; ++slot) {
        if (!format.valid(slot, row)) continue;
        if (visitor.take(partial, held, row, slot) && Visitor::exits) return true;
    }
    return false;
}

// The groups of a team inside a warp take the slots in turn; true if one asked to leave the row.
template <u32 lanes, class Format, class Visitor>
WEFT_DEVICE bool take_by_team(const Format& format, Visitor& visitor,
                              typename Visitor::Partial& partial,
                              const typename Visitor::Row& held, i64 row, i64 begin, i64 end,
                              u32 mask, u32 width) {
    const u32 step = width / lanes;
    const u32 group = lane_id() % width / lanes;
    if constexpr (!Visitor::exits) {
        take_batches(format, visitor, partial, held, row, begin + group, end, step);
        return false;
    } else {
        for (i64 window = begin; window < end; window += step) {
            const i64 slot = window + group;
            const bool hit =
                slot < end && format.valid(slot, row) && visitor.take(partial, held, row, slot);
            if (any(mask, hit)) return true;
        }
        return false;
    }
}

// Load a row whose slots are at hand, which may be all that the visitor asks the format for.
template <class Visitor>
WEFT_DEVICE typename Visitor::Row load_row(Visitor& visitor, i64 row, i64 begin, i64 end) {
    if constexpr (Visitor::measures) return visitor.load(row, begin, end);
    else return visitor.load(row);
}

// A group walks a whole open row.
template <class Format, class Visitor>
WEFT_DEVICE void walk_alone(const Format& format, i64 row, i64 begin, i64 end, Visitor& visitor) {
    const typename Visitor::Row held = load_row(visitor, row, begin, end);
    typename Visitor::Partial partial = visitor.empty(held);
    take_alone(format, visitor, partial, held, row, begin, end);
    if constexpr (Visitor::collects) visitor.close(held, row, partial, true);
}

// A team of `width` neighbouring threads of a warp, a power of two of groups, walks a whole row.
template <u32 lanes, class Format, class Visitor>
WEFT_DEVICE void walk_by_team(const Format& format, i64 row, i64 begin, i64 end, Visitor& visitor,
                              u32 width) {
    const u32 mask =
        width == warp_size ? full_mask : ((1u << width) - 1) << (lane_id() / width * width);
    const typename Visitor::Row held = load_row(visitor, row, begin, end);
    typename Visitor::Partial partial = visitor.empty(held);
    take_by_team<lanes>(format, visitor, partial, held, row, begin, end, mask, width);
    if constexpr (Visitor::collects) {
        meet<lanes>(visitor, partial, mask, width);
        sync_warp(mask);  // all have read what belongs to the row before it is written
        if (lane_id() % width < lanes) visitor.close(held, row, partial, true);
    }
}

// The part of shared memory that walk_by_block needs: a flag and two sets of partials, in turn, so
// that one barrier per row is enough.
constexpr u32 flag_bytes = 16;

// A block walks a whole row. `turn` counts its rows from 1; the flag is 0 before the first.
template <u32 lanes, class Format, class Visitor>
WEFT_DEVICE void walk_by_block(const Format& format, i64 row, i64 begin, i64 end,
                               Visitor& visitor, unsigned char* shared, u32 turn) {
    using Partial = typename Visitor::Partial;
    if constexpr (lanes == 0) {
        walk_alone(format, row, begin, end, visitor);
    } else {
        if constexpr (Visitor::marks) visitor.mark(row);
        const typename Visitor::Row held = load_row(visitor, row, begin, end);
        Partial partial = visitor.empty(held);
        const TurnFlag flag = {reinterpret_cast<u32*>(shared), turn};
        take_every<lanes>(format, visitor, partial, held, row, begin + Group<lanes>::in_block(),
                          end, Group<lanes>::per_block(), flag);
        if constexpr (Visitor::marks) visitor.unmark();
        if constexpr (Visitor::collects) {
            const u32 warps = block_size() / warp_size;
            Partial* parts =
                reinterpret_cast<Partial*>(shared + flag_bytes) + turn % 2 * warps * lanes;
            meet<lanes>(visitor, partial, full_mask, warp_size);
            if (lane_id() < lanes) parts[warp_id() * lanes + lane_id()] = partial;
            sync_block();
            if (warp_id() == 0) {
                partial = visitor.empty(held);
                for (u32 warp = lane_id() / lanes; warp < warps; warp += warp_size / lanes) {
                    visitor.merge(partial, parts[warp * lanes + lane_id() % lanes]);
                }
                meet<lanes>(visitor, partial, full_mask, warp_size);
                if (lane_id() < lanes) visitor.close(held, row, partial, true);
            }
        }
    }
}

// Before the first walk_by_block of a phase.
template <u32 lanes>
WEFT_DEVICE void clear_flag(unsigned char* shared) {
    if constexpr (lanes > 0) {
        if (thread_id() == 0) *reinterpret_cast<u32*>(shared) = 0;
        sync_block();
    }
}

// A warp shares its rows with no other warp.
struct CloseWhole {
    template <class Visitor>
    WEFT_DEVICE void finish(Visitor& visitor, const typename Visitor::Row& held, i64 row,
                            const typename Visitor::Partial& partial, u32) const {
        visitor.close(held, row, partial, true);
    }
    WEFT_DEVICE bool raised(i64, u32) const { return false; }
    WEFT_DEVICE void raise(i64, u32) const {}
};

// Marked rows are shared by warps of several blocks and closed in parts; a byte per row tells that
// no more of it is wanted.
struct CloseParts {
    u8* stops;
    template <class Visitor>
    WEFT_DEVICE void finish(Visitor& visitor, const typename Visitor::Row& held, i64 row,
                            const typename Visitor::Partial& partial, u32 mark) const {
        visitor.close(held, row, partial, mark == 0);
    }
    WEFT_DEVICE bool raised(i64 row, u32 mark) const {
        return mark != 0 && load_relaxed(stops + row) != 0;
    }
    WEFT_DEVICE void raise(i64 row, u32 mark) const {
        if (mark != 0) store_relaxed(stops + row, 1);
    }
};

template <class Keeper>
struct KeeperFlag {
    const Keeper& keeper;
    i64 row;
    u32 mark;
    WEFT_DEVICE bool raised() const { return keeper.raised(row, mark); }
    WEFT_DEVICE void raise() const { keeper.raise(row, mark); }
};

// One group takes a stretch of a row and finishes it.
template <u32 lanes, class Format, class Visitor, class Keeper>
WEFT_DEVICE void take_share(const Format& format, Visitor& visitor, const Keeper& keeper,
                            const Share& share) {
    const typename Visitor::Row held = visitor.load(share.row);
    typename Visitor::Partial partial = visitor.empty(held);
    const i64 end = share.begin + share.degree;
    if (share.mark == 0) {
        take_alone(format, visitor, partial, held, share.row, share.begin, end);
    } else {
        const KeeperFlag<Keeper> flag = {keeper, share.row, share.mark};
        take_every<lanes>(format, visitor, partial, held, share.row, share.begin, end, 1, flag);
    }
    if constexpr (Visitor::collects) keeper.finish(visitor, held, share.row, partial, share.mark);
}

// How many of the sorted starts are at or before a position, less one: the row that holds it.
template <class Starts>
WEFT_DEVICE i64 row_of_position(const Starts& starts, i64 count, i64 position) {
    count_search();
    i64 low = 0, high = count;
    while (high - low > 1) {
        const i64 middle = (low + high) / 2;
        if (starts[middle] <= position) low = middle;
        else high = middle;
    }
    return low;
}

// Rows that a unit (warp or block) takes at a time: no more than `most`, and so few that all units
// have some.
WEFT_DEVICE u32 rows_at_a_time(i64 size, i64 units, u32 most) {
    if (size >= units * most) return most;
    // Less than 2^32 rows: a division of 64 bits would take longer than a load.
    const u32 even = (static_cast<u32>(size) + static_cast<u32>(units) - 1) / static_cast<u32>(units);
    return even < 1 ? 1u : even;
}

}  // namespace weft

#endif
