// Who runs: the ready list, the starting of blocks, the end of a thread.
#ifndef WEFT_SIMT_SCHEDULE_H
#define WEFT_SIMT_SCHEDULE_H

#include "machine.h"

namespace weft::simt {

inline Thread* pick() {
    if (machine.ready.empty()) fail_stuck();
    if (machine.random != 0) {
        std::swap(machine.ready.front(), machine.ready[draw(machine.ready.size())]);
    }
    Thread* next = machine.ready.front();
    machine.ready.pop_front();
    return next;
}

inline void run(Fibre& from, Thread* next) {
    machine.current = next;
    here = next->indices;
    if (next->fibre != &from) switch_fibre(from, *next->fibre);
}

inline void yield() {
    machine.ready.push_back(machine.current);
    run(*machine.current->fibre, pick());
}

// Leave the ready list until wake().
inline void wait(State state, Site site) {
    Thread& me = *machine.current;
    me.state = state;
    me.site = site;
    machine.idle = 0;
    run(*me.fibre, pick());
}

inline void wake(Thread& thread) {
    thread.state = State::ready;
    if (&thread != machine.current) machine.ready.push_back(&thread);
}

inline void free_shared(Block& block) {
    for (const Shared& shared : block.shared) free_unwritten(shared.memory);
    block.shared.clear();
}

inline char* new_shared(Block& block, const void* key, u64 bytes) {
    char* memory = static_cast<char*>(allocate_unwritten(bytes));
    // Real shared memory holds what the block before left there.
    for (u64 i = 0; i < bytes; ++i) {
        static_cast<volatile char*>(memory)[i] =
            static_cast<char>(machine.random ? next_random() : 0xa5);
    }
    block.shared.push_back({key, bytes, memory});
    return memory;
}

inline void start_block(u32 id, Cluster& cluster, u32 rank) {
    const Shape& shape = machine.shape;
    Block& block = machine.blocks.emplace_back();
    cluster.blocks.push_back(&block);
    block.cluster = &cluster;
    block.alive = block.barrier.expected = shape.block;
    block.threads = std::vector<Thread>(shape.block);
    block.warps = std::vector<Warp>((shape.block + warp_size - 1) / warp_size);
    new_shared(block, nullptr, shape.shared_bytes);
    for (u32 i = 0; i < shape.block; ++i) {
        Thread& thread = block.threads[i];
        thread.indices = {i, id, shape.block, shape.grid, rank, shape.cluster};
        thread.block = &block;
        thread.warp = &block.warps[i / warp_size];
        thread.warp->lanes[i % warp_size] = &thread;
        thread.warp->present |= 1u << (i % warp_size);
        thread.fibre = machine.free_fibres.front();
        machine.free_fibres.pop_front();
        thread.fences.fibre = thread.fibre;
        machine.ready.push_back(&thread);
    }
    machine.alive += shape.block;
}

inline void start_clusters() {
    const u32 cluster_threads = machine.shape.block * machine.shape.cluster;
    while (machine.started_clusters < machine.order.size() &&
           machine.alive + cluster_threads <= machine.capacity) {
        const u32 index = machine.order[machine.started_clusters++];
        Cluster& cluster = machine.clusters.emplace_back();
        cluster.barrier.expected = cluster_threads;
        for (u32 rank = 0; rank < machine.shape.cluster; ++rank) {
            start_block(index * machine.shape.cluster + rank, cluster, rank);
        }
    }
}

// A thread that has exited can no longer come to what others wait at.
inline void check_nobody_waits_for(Thread& me) {
    for (const Thread* lane : me.warp->lanes) {
        if (lane != nullptr && lane->state == State::warp && (lane->mask >> me.lane() & 1)) {
            fail("exited-lane", lane->site,
                 format("the mask 0x%08x of %s names lane %u, which has exited", lane->mask,
                        name_of(lane->op), me.lane()));
        }
    }
    if (me.block->barrier.arrived > 0) {
        fail(
            "skipped-barrier", me.block->barrier.site,
            format("sync_block was not reached by thread %u, which has exited", me.indices.thread));
    }
    if (me.block->cluster->barrier.arrived > 0) {
        fail("skipped-barrier", me.block->cluster->barrier.site,
             format("sync_cluster was not reached by thread %u of block %u, which has exited",
                    me.indices.thread, me.indices.block));
    }
}

// Lanes that meet take their next arcs together: what they took since they met before is over.
inline void fold_arcs(Warp& warp) {
    u64 most = 0;
    for (Thread* lane : warp.lanes) {
        if (lane == nullptr) continue;
        most = lane->arcs > most ? lane->arcs : most;
        counts.arcs += lane->arcs;
        lane->arcs = 0;
    }
    counts.warp_iterations += most;
}

inline void finish() {
    Thread& me = *machine.current;
    Block& block = *me.block;
    Fibre& fibre = *me.fibre;
    me.state = State::done;
    me.warp->exited |= 1u << me.lane();
    if (me.warp->exited == me.warp->present) fold_arcs(*me.warp);
    check_nobody_waits_for(me);
    release(fibre, &machine.end_word);
    --block.alive;
    --machine.alive;
    machine.idle = 0;
    machine.free_fibres.push_back(&fibre);
    if (block.alive == 0) {
        free_shared(block);
        start_clusters();
    }
    if (machine.alive == 0) {
        machine.current = nullptr;
        switch_fibre(fibre, runtime_fibre);
    } else {
        run(fibre, pick());
    }
}

inline void fibre_main() {
    arrive();
    while (true) {
        Thread& me = *machine.current;
#ifdef WEFT_SIMT_THREAD
        const std::string name = format("block %u thread %u", me.indices.block, me.indices.thread);
        __tsan_set_fiber_name(me.fibre->shadow, name.c_str());
#endif
        acquire(*me.fibre, &machine.begin_word);
        become(*me.fibre);
        machine.kernel->call(machine.args);
        become(runtime_fibre);
        finish();
    }
}

}  // namespace weft::simt

#endif
