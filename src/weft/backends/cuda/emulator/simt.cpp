// Run-time of the host emulation: runs the threads of a launch as fibres and implements what they
// wait for.
//
// All fibres run in one OS thread; the seed of a launch decides who runs next. A thread waits by
// leaving the ready list; if the list is empty before every thread has finished, nobody can wake
// anybody: that is a deadlock, reported with who waits where. This file is compiled without
// instrumentation, so the sanitizers see the kernel's accesses alone; barriers tell ThreadSanitizer
// what they order (fibre.h), fences too (fences.h), shuffles order nothing.
#include "simt.h"

#include "machine.h"
#include "schedule.h"

namespace weft::simt {

Indices here = {};
Counts counts = {};
void count_atomic() { ++counts.atomics; }
void count_arc() { ++machine.current->arcs; }
void count_search() { ++counts.searches; }

namespace {

template <class ForEach>
u32 meet(Barrier& barrier, State state, Vote vote, bool predicate, Site site, ForEach for_each) {
    Thread& me = *machine.current;
    if (barrier.arrived > 0 && (barrier.vote != vote || !same_place(barrier.site, site))) {
        fail("divergent-barrier", site,
             format("thread %u is here while others wait for it at the barrier in line %d",
                    me.indices.thread, barrier.site.line));
    }
    barrier.vote = vote;
    barrier.site = site;
    barrier.yes += predicate;
    void* word = &barrier.words[barrier.phase % 2];
    release(*me.fibre, word);
    if (++barrier.arrived < barrier.expected) {
        wait(state, site);
    } else {
        const u32 yes = barrier.yes;
        const u32 result = vote == Vote::count ? yes
                           : vote == Vote::all ? yes == barrier.expected
                                               : yes > 0;
        barrier.arrived = barrier.yes = 0;
        ++barrier.phase;
        counts.block_barriers += state == State::block;
        if (state == State::block) {
            for (Warp& warp : me.block->warps) fold_arcs(warp);
        }
        machine.idle = 0;
        for_each([=](Thread& thread) {
            thread.result = result;
            wake(thread);
        });
        if (by_chance(2)) yield();
    }
    acquire(*me.fibre, word);
    return static_cast<u32>(me.result);
}

}  // namespace

u32 sync_block(Vote vote, bool predicate, Site site) {
    const InRuntime in_runtime;
    Block& block = *machine.current->block;
    if (block.alive < block.threads.size()) {
        fail("skipped-barrier", site,
             format("sync_block waits for %zu threads of the block, which have exited",
                    block.threads.size() - block.alive));
    }
    return meet(block.barrier, State::block, vote, predicate, site, [&](auto visit) {
        for (Thread& thread : block.threads) visit(thread);
    });
}

void sync_cluster(Site site) {
    const InRuntime in_runtime;
    Cluster& cluster = *machine.current->block->cluster;
    for (const Block* block : cluster.blocks) {
        if (block->alive < block->threads.size()) {
            fail("skipped-barrier", site,
                 format("sync_cluster waits for threads of block %u, which have exited",
                        block->threads[0].indices.block));
        }
    }
    meet(cluster.barrier, State::cluster, Vote::none, false, site, [&](auto visit) {
        for (Block* block : cluster.blocks) {
            for (Thread& thread : block->threads) visit(thread);
        }
    });
}

namespace {

u64 shuffled(const Thread& me) {
    const u32 lane = me.lane();
    const u32 first = lane & ~(me.width - 1);
    u32 source = lane;
    switch (me.op) {
        case WarpOp::shuffle:
            source = first | (me.operand & (me.width - 1));
            break;
        case WarpOp::shuffle_up:
            source = lane - first >= me.operand ? lane - me.operand : lane;
            break;
        case WarpOp::shuffle_down:
            source = me.operand < me.width - (lane - first) ? lane + me.operand : lane;
            break;
        default:
            source = (lane ^ me.operand) < first + me.width ? lane ^ me.operand : lane;
    }
    // The value of a lane that takes no part is undefined.
    if (!(me.mask >> source & 1))
        return machine.random != 0 ? next_random() : 0xdeadbeefdeadbeefull;
    return me.warp->lanes[source]->value;
}

void give_results(const Warp& warp, u32 mask) {
    for (u32 lane = 0; lane < warp_size; ++lane) {
        if (!(mask >> lane & 1)) continue;
        Thread& me = *warp.lanes[lane];
        me.result = 0;
        if (me.op == WarpOp::ballot || me.op == WarpOp::match) {
            const u64 wanted = me.op == WarpOp::match ? me.value : 1;
            for (u32 other = 0; other < warp_size; ++other) {
                const bool counts = (mask >> other & 1) && warp.lanes[other]->value == wanted;
                me.result |= u64(counts) << other;
            }
        } else if (me.op != WarpOp::sync) {
            me.result = shuffled(me);
        }
    }
    for (u32 lane = 0; lane < warp_size; ++lane) {
        if (mask >> lane & 1) wake(*warp.lanes[lane]);
    }
}

MaskPhase& phase_of(Warp& warp, u32 mask) {
    for (MaskPhase& phase : warp.phases) {
        if (phase.mask == mask) return phase;
    }
    MaskPhase& phase = warp.phases.emplace_back();
    phase.mask = mask;
    return phase;
}

void check_mask(const Thread& me, WarpOp op, u32 mask, Site site) {
    const Warp& warp = *me.warp;
    if (!(mask >> me.lane() & 1)) {
        fail("mask-without-caller", site,
             format("the mask 0x%08x of %s does not name lane %u, which calls it", mask,
                    name_of(op), me.lane()));
    }
    if (mask & ~warp.present) {
        fail("missing-lane", site,
             format(
                 "the mask 0x%08x of %s names lanes that the block of %u threads does not have: %s",
                 mask, name_of(op), me.indices.block_size,
                 listed_bits(mask & ~warp.present).c_str()));
    }
    if (mask & warp.exited) {
        fail("exited-lane", site,
             format("the mask 0x%08x of %s names lanes that have exited: %s", mask, name_of(op),
                    listed_bits(mask & warp.exited).c_str()));
    }
}

// Whether all lanes of my mask wait at the same operation with the same mask.
bool all_have_come(const Thread& me) {
    bool complete = true;
    for (u32 lane = 0; lane < warp_size; ++lane) {
        if (!(me.mask >> lane & 1)) continue;
        const Thread& other = *me.warp->lanes[lane];
        if (other.state == State::warp && other.op == me.op && other.mask == me.mask) continue;
        complete = false;
        if (other.state == State::warp && (other.mask >> me.lane() & 1)) {
            fail("divergent-mask", me.site,
                 format(
                     "lane %u calls %s(0x%08x), but lane %u waits for it at %s(0x%08x) in line %d",
                     me.lane(), name_of(me.op), me.mask, lane, name_of(other.op), other.mask,
                     other.site.line));
        }
    }
    return complete;
}

}  // namespace

u64 warp_op(WarpOp op, u32 mask, u64 value, u32 operand, u32 width, Site site) {
    const InRuntime in_runtime;
    Thread& me = *machine.current;
    check_mask(me, op, mask, site);
    me.op = op;
    me.mask = mask;
    me.value = value;
    me.operand = operand;
    me.width = width;
    me.state = State::warp;
    me.site = site;
    MaskPhase* phase = op == WarpOp::sync ? &phase_of(*me.warp, mask) : nullptr;
    void* word = phase != nullptr ? &phase->words[phase->phase % 2] : nullptr;
    if (word != nullptr) release(*me.fibre, word);
    if (all_have_come(me)) {
        if (phase != nullptr) ++phase->phase;
        const bool votes = op == WarpOp::ballot || op == WarpOp::match;
        ++(phase != nullptr ? counts.warp_barriers : votes ? counts.votes : counts.shuffles);
        if (mask == (me.warp->present & ~me.warp->exited)) fold_arcs(*me.warp);
        give_results(*me.warp, mask);
        machine.idle = 0;
        if (by_chance(2)) yield();
    } else {
        wait(State::warp, site);
    }
    if (word != nullptr) acquire(*me.fibre, word);
    return me.result;
}

// Lanes that happen to be here together: those that have come by the time the first of them goes
// on.
u32 active_mask(Site site) {
    const InRuntime in_runtime;
    Thread& me = *machine.current;
    me.site = site;
    me.at_active_mask = true;
    yield();
    if (me.at_active_mask) {
        u32 together = 0;
        for (const Thread* lane : me.warp->lanes) {
            if (lane != nullptr && lane->at_active_mask && same_place(lane->site, site)) {
                together |= 1u << lane->lane();
            }
        }
        for (Thread* lane : me.warp->lanes) {
            if (lane == nullptr || !(together >> lane->lane() & 1)) continue;
            lane->at_active_mask = false;
            lane->result = together;
        }
    }
    return static_cast<u32>(me.result);
}

void* shared_block(const void* key, u64 bytes) {
    const InRuntime in_runtime;
    Block& block = *machine.current->block;
    for (const Shared& shared : block.shared) {
        if (shared.key == key) return shared.memory;
    }
    return new_shared(block, key, bytes);
}

void* shared_dynamic() { return machine.current->block->shared.front().memory; }

void* shared_of(const void* pointer, u32 rank, Site site) {
    const InRuntime in_runtime;
    const Block& mine = *machine.current->block;
    if (rank >= mine.cluster->blocks.size()) {
        fail("cluster-rank", site,
             format("rank %u of a cluster of %zu blocks", rank, mine.cluster->blocks.size()));
    }
    Block& other = *mine.cluster->blocks[rank];
    if (other.alive == 0) {
        fail("exited-block", site,
             format("the block of rank %u has exited: its memory is gone", rank));
    }
    const char* wanted = static_cast<const char*>(pointer);
    for (const Shared& shared : mine.shared) {
        if (wanted < shared.memory || wanted >= shared.memory + shared.bytes) continue;
        for (const Shared& twin : other.shared) {
            if (twin.key == shared.key) return twin.memory + (wanted - shared.memory);
        }
        return new_shared(other, shared.key, shared.bytes) + (wanted - shared.memory);
    }
    fail("not-shared", site, "the pointer is not into shared memory of this block");
}

void step(const volatile void* word, u64 bytes, Site site) {
    Thread& me = *machine.current;
    ++machine.ticks;
    if (reinterpret_cast<std::uintptr_t>(word) % bytes != 0) {
        fail("misaligned", site,
             format("the address of a word of %llu bytes is no multiple of it", bytes));
    }
    if (!me.spinning) {
        machine.idle = 0;
        me.site = site;
    }
    if (by_chance(preempt_one_in)) {
        const InRuntime in_runtime;
        yield();
    }
}

void begin_spin(Site site) {
    machine.current->spinning = true;
    machine.current->site = site;
}

void spin() {
    const InRuntime in_runtime;
    ++machine.ticks;
    if (++machine.idle > idle_rounds * machine.alive + idle_rounds) fail_stuck();
    yield();
}

void end_spin() {
    machine.current->spinning = false;
    machine.idle = 0;
}

#ifdef WEFT_SIMT_THREAD
void fence(bool device) {
    const InRuntime in_runtime;
    if (device) {
        machine.words.fence(machine.current->fences);
    } else {
        // All fences of a block are taken as ordered one after another.
        release(*machine.current->fibre, &machine.current->block->fence_word);
        acquire(*machine.current->fibre, &machine.current->block->fence_word);
    }
}
void publish(const volatile void* word, bool keeps_earlier, Order order) {
    const InRuntime in_runtime;
    machine.words.publish(machine.current->fences, word, keeps_earlier, order == Order::ordered);
}
void observe(const volatile void* word, Order order) {
    const InRuntime in_runtime;
    machine.words.observe(machine.current->fences, word, order == Order::ordered);
}
#endif

u64 clock() { return ++machine.ticks; }
void trap(const char* message, Site site) { fail("trap", site, message); }

namespace {

void check_shape(const Shape& shape) {
    const Site site = {"launch", 0};
    if (shape.grid == 0 || shape.block == 0 || shape.block > max_block || shape.cluster == 0 ||
        shape.grid % shape.cluster != 0) {
        fail("launch", site,
             format("%u blocks of %u threads in clusters of %u; expected 1 to %u threads and whole "
                    "clusters",
                    shape.grid, shape.block, shape.cluster, max_block));
    }
    const u64 together = u64(shape.block) * (shape.cooperative ? shape.grid : shape.cluster);
    if (together > max_resident_threads) {
        fail("launch", site,
             format("%llu threads must run together, at most %u can", together,
                    max_resident_threads));
    }
}

u32 capacity_of(const Shape& shape) {
    const u32 unit = shape.block * shape.cluster;
    if (shape.cooperative) return shape.grid * shape.block;
    return unit > resident_threads ? unit : resident_threads / unit * unit;
}

}  // namespace

void launch(const Kernel& kernel, void* const* args, const Shape& shape, u64 seed) {
    machine.kernel = &kernel;
    machine.args = args;
    machine.shape = shape;
    machine.random = seed * 0x9e3779b97f4a7c15ull;  // an odd factor: only the seed 0 stays 0
    machine.idle = 0;
    check_shape(shape);
    if (runtime_fibre.stack == nullptr) adopt_current(runtime_fibre);

    // Twice as many fibres as can run at once, used in turn: a block should not run as the same
    // fibre as the block before, or ThreadSanitizer would take the two for ordered.
    machine.capacity = capacity_of(shape);
    const u64 total = u64(shape.grid) * shape.block;
    const u64 wanted = total < 2ull * machine.capacity ? total : 2ull * machine.capacity;
    while (machine.fibres.size() < wanted) {
        machine.fibres.push_back(std::make_unique<Fibre>());
        create(*machine.fibres.back(), fibre_main);
        machine.free_fibres.push_back(machine.fibres.back().get());
    }
    release(runtime_fibre, &machine.begin_word);

    machine.started_clusters = 0;
    machine.order.resize(shape.grid / shape.cluster);
    for (u32 i = 0; i < machine.order.size(); ++i) machine.order[i] = i;
    for (u32 i = 1; machine.random != 0 && i < machine.order.size(); ++i) {
        std::swap(machine.order[i], machine.order[draw(i + 1)]);
    }
    start_clusters();
    run(runtime_fibre, pick());

    acquire(runtime_fibre, &machine.end_word);
    machine.blocks.clear();
    machine.clusters.clear();
    machine.words.clear();
}

}  // namespace weft::simt
