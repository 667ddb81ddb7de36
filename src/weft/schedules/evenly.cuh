// The slots of up to 32 rows, handed to the groups of a warp evenly.
#ifndef WEFT_EVENLY_CUH
#define WEFT_EVENLY_CUH

#include "joined.cuh"

namespace weft {

// Shared memory of a warp for share_out: the rows that have slots, in order.
struct Board {
    i64* row;
    i64* base;   // slot of a position = base + position
    i64* start;  // first position of the row; one more for the end
    u32* mark;

    static constexpr u32 starts = warp_size + 1;
    static constexpr u32 bytes = (2 * warp_size + starts) * 8 + warp_size * 4 + 8;

    explicit WEFT_DEVICE Board(unsigned char* memory) {
        row = reinterpret_cast<i64*>(memory);
        base = row + warp_size;
        start = base + warp_size;
        mark = reinterpret_cast<u32*>(start + starts);
    }
};
static_assert(Board::bytes == 912, "schedules/base.py says BOARD_BYTES");

// Which of `width` positions from `window` on are the first ones of rows, as bits. Every thread
// tells whether it has a row, and where that starts.
WEFT_DEVICE u32 starts_in(i64 window, bool some, i64 start, u32 width) {
    const bool here = some && start >= window && start < window + width;
    return reduce_or(full_mask, here ? 1u << static_cast<u32>(start - window) : 0u);
}

// Where nothing gathers in rows, no row is left early, and a group is one lane: the slots of as many
// windows as the visitor asks for go through each stage together: targets, messages, swaps, and what
// became of them. `mine` is what the arcs of the lane's own row share; the board's marks are the lanes
// that have the rows. Of a slot no more than the rank of its row is kept, to save registers.
template <class Format, class Visitor>
WEFT_DEVICE void send_evenly(const Format& format, Visitor& visitor, const Board& board,
                             const typename Visitor::Row& mine, bool some, i64 start, i64 total) {
    static_assert(!Visitor::counts, "the arcs that are looked at here are not counted");
    constexpr u32 windows = Visitor::windows;
    constexpr i64 width = windows * warp_size;
    typename Visitor::Partial partial{};  // empty
    u32 before = 0;                       // rows that started in earlier windows
    WEFT_UNROLL(1)
    for (i64 first = 0; first < total; first += width) {
        const u32 left = static_cast<u32>(total - first < width ? total - first : width);
        u32 ranks[windows];
        typename Visitor::Row held[windows];
        typename Visitor::Target targets[windows];
        typename Visitor::Message messages[windows];
        const auto inside = [&](u32 k) { return k * warp_size + lane_id() < left; };
        const auto row_of = [&](u32 k) { return board.row[ranks[k]]; };
        const auto slot_of = [&](u32 k) {
            return board.base[ranks[k]] + first + k * warp_size + lane_id();
        };
        WEFT_UNROLL(windows)
        for (u32 k = 0; k < windows; ++k) {
            if (k * warp_size < left) {
                const u32 starts = starts_in(first + k * warp_size, some, start, warp_size);
                ranks[k] = before + popcount(starts & ((2u << lane_id()) - 1)) - 1;
                before += popcount(starts);
                held[k] = shuffle_any(full_mask, mine, board.mark[ranks[k]]);
                if (inside(k)) targets[k] = format.target(slot_of(k), row_of(k));
            }
        }
        WEFT_UNROLL(windows)
        for (u32 k = 0; k < windows; ++k) {
            if (inside(k)) {
                messages[k] = visitor.message_of(held[k], row_of(k), slot_of(k), targets[k]);
            }
        }
        WEFT_UNROLL(windows)
        for (u32 k = 0; k < windows; ++k) {
            if (inside(k)) visitor.deliver(partial, held[k], row_of(k), slot_of(k), messages[k]);
        }
        if constexpr (Visitor::settles) {
            bool emits[windows];
            WEFT_UNROLL(windows)
            for (u32 k = 0; k < windows; ++k) {
                emits[k] =
                    inside(k) && visitor.settle(held[k], row_of(k), slot_of(k), messages[k]);
            }
            visitor.emit(targets, emits);
        }
    }
}

// The rows that start in a window are bits of a word, so a group finds its row by counting them.
// While no row starts, a row gathers in all groups; when one does, the groups of the same row meet,
// and the first of them (the leader) has the whole. Where rows are joined, `mine` is the vertex of the
// lane's own row, and the board's marks are the lanes that have the rows.
template <u32 lanes, class Format, class Visitor, class Keeper>
WEFT_DEVICE void gather_evenly(const Format& format, Visitor& visitor, const Keeper& keeper,
                               const Board& board, i64 mine, bool some, i64 start, i64 total) {
    static_assert(!is_joined<Format> || (lanes == 1 && !Visitor::collects && !Visitor::exits),
                  "what the rows of a vertex gather would not meet");
    constexpr u32 width = Group<lanes>::per_warp;
    constexpr u32 none = 0xffffffffu;
    using Row = typename Visitor::Row;
    using Partial = typename Visitor::Partial;
    const u32 group = lane_id() / lanes;
    i64 window = 0;
    u32 last = none;     // the row that the window before ended in
    bool spread = true;  // its partial is in all groups, not in the leader alone
    u32 leader = 0;
    u32 done = 0;  // rows of which no more is wanted
    u32 rank = 0;
    bool mixed = false;  // there were several rows in the window before
    i64 row = board.row[0], base = board.base[0];
    i64 loaded = row;  // a row, or a vertex
    if constexpr (is_joined<Format>) loaded = shuffle(full_mask, mine, board.mark[0]);
    Row held = visitor.load(loaded);
    Partial partial = visitor.empty(held);
    if constexpr (Visitor::exits) {
        if (any(full_mask, keeper.raised(row, board.mark[0]))) {
            done = 1;
            last = 0;
            window = board.start[1];
        }
    }
    while (true) {
        const bool over = window >= total;
        const u32 starts = over ? 1u : starts_in(window, some, start, width);
        if constexpr (Visitor::collects) {
            if (starts != 0 && last != none) {
                if (spread) {
                    meet<lanes>(visitor, partial, full_mask, warp_size);
                    leader = 0;
                }
                if (starts & 1) {
                    if (group == leader) {
                        keeper.finish(visitor, held, row, partial, board.mark[rank]);
                    }
                } else {
                    const u32 source = leader * lanes + lane_id() % lanes;
                    partial = shuffle_any(full_mask, partial, source);
                }
            }
        }
        if (over) return;

        const u32 now = last + popcount(starts & ((2u << group) - 1));
        if constexpr (is_joined<Format>) {
            if (starts != 0 || mixed) {  // for all lanes together
                rank = now;
                row = board.row[now];
                base = board.base[now];
                held = visitor.load(shuffle(full_mask, mine, board.mark[now]));
            }
            mixed = starts != 0;
        } else if (now != rank) {
            rank = now;
            row = board.row[now];
            base = board.base[now];
            held = visitor.load(row);
        }
        if constexpr (Visitor::collects) {
            const bool keeps = starts == 0 ? spread || group == leader
                                           : group == 0 && (starts & 1) == 0;
            if (!keeps) partial = visitor.empty(held);
        }
        last += popcount(starts);
        const i64 position = window + group;
        bool hit = false;
        if (position < total && !(Visitor::exits && (done >> rank & 1))) {
            const i64 slot = base + position;
            if (format.valid(slot, row)) hit = visitor.take(partial, held, row, slot);
        }
        if constexpr (Visitor::collects) {
            if (starts != 0) {
                meet_keyed<lanes>(visitor, partial, rank);
                const bool first = group == 0 || (starts >> group & 1);
                if (first && rank != last) {
                    keeper.finish(visitor, held, row, partial, board.mark[rank]);
                }
                leader = 31 - clz(starts);
            }
            spread = starts == 0;
        }
        window += width;
        if constexpr (Visitor::exits) {
            u32 ended = hit ? 1u << rank : 0;
            if (hit) keeper.raise(row, board.mark[rank]);
            if (lane_id() == 0 && keeper.raised(board.row[last], board.mark[last])) {
                ended |= 1u << last;
            }
            done |= reduce_or(full_mask, ended);
            const i64 next = board.start[last + 1];
            if ((done >> last & 1) && next > window) window = next;
        }
    }
}

// Every thread of a warp brings the share of a row (of degree 0 for none) and, where rows are joined,
// its vertex; the groups of the warp take all of their slots evenly, and the keeper finishes each row.
//
// The slots, one row after another, are numbered by positions. The groups take one window of
// consecutive positions after another.
template <u32 lanes, class Format, class Visitor, class Keeper>
WEFT_DEVICE void share_out(const Format& format, Visitor& visitor, const Keeper& keeper,
                           unsigned char* memory, const Share& mine, i64 vertex = -1) {
    // With vertices to be kept beside rows, too much would have to be kept.
    constexpr bool sends = lanes == 1 && !Visitor::collects && !Visitor::exits &&
                           Visitor::windows > 1 && !Format::splits && Format::full_rows;
    if constexpr (lanes == warp_size) {
        for (u32 rest = ballot(full_mask, mine.degree > 0); rest != 0; rest &= rest - 1) {
            const u32 source = ffs(rest) - 1;
            const Share share = {shuffle(full_mask, mine.row, source),
                                 shuffle(full_mask, mine.begin, source),
                                 shuffle(full_mask, mine.degree, source),
                                 shuffle(full_mask, mine.mark, source)};
            take_share<lanes>(format, visitor, keeper, share);
        }
    } else {
        const i64 sum = scan_warp(mine.degree);
        const i64 total = shuffle(full_mask, sum, warp_size - 1);
        if (total == 0) return;
        const bool some = mine.degree > 0;
        const i64 start = sum - mine.degree;
        const u32 present = ballot(full_mask, some);
        const Board board(memory);
        sync_warp(full_mask);  // The rows of the previous share are no longer read.
        if (some) {
            const u32 place = popcount(present & lanes_below());
            board.row[place] = mine.row;
            board.base[place] = mine.begin - start;
            board.start[place] = start;
            board.mark[place] = sends || is_joined<Format> ? lane_id() : mine.mark;
        }
        if (lane_id() == 0) board.start[popcount(present)] = total;
        if constexpr (sends) {
            typename Visitor::Row own{};
            if (some) own = visitor.load(mine.row);
            sync_warp(full_mask);
            send_evenly(format, visitor, board, own, some, start, total);
        } else {
            sync_warp(full_mask);
            gather_evenly<lanes>(format, visitor, keeper, board, vertex, some, start, total);
        }
    }
}

// All rows of up to 32 vertices, those at places from `first` on, 32 rows at a time. Nothing is
// gathered. Vertices are asked for again rather than kept: registers are scarce.
template <class Format, class Rows, class Visitor>
WEFT_DEVICE void share_out_joined(const Format& format, const Rows& rows, i64 first, i64 limit,
                                  Visitor& visitor, unsigned char* memory) {
    const i64 mine = first + lane_id() < limit ? rows.row(first + lane_id()) : -1;
    const bool open = mine >= 0 && visitor.open(mine);
    const i64 count = open ? format.ranges(mine).count() : 0;
    const i64 sum = scan_warp(count);
    const i64 start = sum - count;  // of the rows of this thread's vertex among all
    const i64 total = shuffle(full_mask, sum, warp_size - 1);
    WEFT_UNROLL(1)
    for (i64 tile = 0; tile < total; tile += warp_size) {
        const i64 at = tile + lane_id();
        u32 owner = 0;  // the last thread whose rows start there or before
        for (u32 step = warp_size / 2; step > 0; step /= 2) {
            if (shuffle(full_mask, start, owner + step) <= at) owner += step;
        }
        const i64 number = at - shuffle(full_mask, start, owner);
        Share share = {-1, 0, 0, 0};
        i64 vertex = -1;
        if (at < total) {
            vertex = rows.row(first + owner);
            const i64 row = format.row_of(vertex, number);
            const i64 begin = format.begin(row);
            share = {row, begin, format.end(row) - begin, 0};
        }
        share_out<1>(format, visitor, CloseWhole(), memory, share, vertex);
    }
}

}  // namespace weft

#endif
