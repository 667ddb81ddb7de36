// The state of a launch: threads, warps, blocks and clusters, what they wait for, and how errors
// are reported.
#ifndef WEFT_SIMT_MACHINE_H
#define WEFT_SIMT_MACHINE_H

#include <unistd.h>

#include <cstdarg>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fences.h"
#include "fibre.h"
#include "simt.h"

namespace weft::simt {

constexpr u32 max_block = 1024;
constexpr u32 resident_threads = 512;       // of a launch whose blocks need not run together
constexpr u32 max_resident_threads = 4096;  // of one whose blocks must
constexpr u32 preempt_one_in = 8;
constexpr u64 idle_rounds = 64;  // looks of every spinning thread in vain: a deadlock
constexpr int exit_code = 70;

enum class State { ready, warp, block, cluster, done };

struct Block;
struct Thread;

struct Barrier {
    u32 expected = 0;
    u32 arrived = 0;
    u32 yes = 0;
    Vote vote = Vote::none;
    Site site = {};
    u64 phase = 0;
    u64 words[2] = {};  // in turn: who leaves late must not see who has already come again
};

// What a warp's sync_warp with one mask orders; kept apart by mask, in turn as in a barrier.
struct MaskPhase {
    u32 mask = 0;
    u64 phase = 0;
    u64 words[2] = {};
};

struct Warp {
    u32 present = 0;
    u32 exited = 0;
    Thread* lanes[warp_size] = {};
    std::deque<MaskPhase> phases;
};

struct Shared {
    const void* key;
    u64 bytes;
    char* memory;
};

struct Cluster {
    std::vector<Block*> blocks;
    Barrier barrier;
};

struct Thread {
    Indices indices = {};
    Block* block = nullptr;
    Warp* warp = nullptr;
    Fibre* fibre = nullptr;
    State state = State::ready;
    Site site = {};
    bool spinning = false;
    bool at_active_mask = false;
    WarpOp op = WarpOp::sync;
    u32 mask = 0;
    u32 operand = 0;
    u32 width = 0;
    u64 value = 0;
    u64 result = 0;
    u64 arcs = 0;  // since the lanes of the warp last met
    FenceState fences;

    u32 lane() const { return indices.thread % warp_size; }
};

struct Block {
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<Shared> shared;
    Cluster* cluster = nullptr;
    Barrier barrier;
    u32 alive = 0;
    u64 fence_word = 0;
};

struct Machine {
    const Kernel* kernel = nullptr;
    void* const* args = nullptr;
    Shape shape = {};
    u64 random = 0;  // 0: threads run in fixed order
    u64 ticks = 0;
    u64 idle = 0;
    u32 started_clusters = 0;
    u32 alive = 0;
    u32 capacity = 0;
    u64 begin_word = 0;
    u64 end_word = 0;
    Thread* current = nullptr;
    std::deque<Thread*> ready;
    std::deque<Fibre*> free_fibres;
    std::vector<std::unique_ptr<Fibre>> fibres;
    std::deque<Block> blocks;
    std::deque<Cluster> clusters;
    std::vector<u32> order;
    WordTokens words;
};
inline Machine machine;

// The time that a thread spends in the run-time.
class InRuntime {
 public:
    InRuntime() { become(runtime_fibre); }
    ~InRuntime() { become(*machine.current->fibre); }
    InRuntime(const InRuntime&) = delete;
    InRuntime& operator=(const InRuntime&) = delete;
};

inline u64 next_random() {
    u64& x = machine.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}
inline bool by_chance(u32 one_in) { return machine.random != 0 && next_random() % one_in == 0; }
inline u32 draw(u64 below) { return static_cast<u32>(next_random() % below); }

inline bool same_place(Site a, Site b) {
    if (a.file == nullptr || b.file == nullptr) return a.file == b.file;
    return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

inline const char* name_of(WarpOp op) {
    switch (op) {
        case WarpOp::sync:
            return "sync_warp";
        case WarpOp::shuffle:
            return "shuffle";
        case WarpOp::shuffle_up:
            return "shuffle_up";
        case WarpOp::shuffle_down:
            return "shuffle_down";
        case WarpOp::shuffle_xor:
            return "shuffle_xor";
        case WarpOp::ballot:
            return "ballot";
        case WarpOp::match:
            return "match_any";
    }
    return "?";
}

std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));
inline std::string format(const char* text, ...) {
    // On the heap: stacks and statics are reused by other fibres, which ThreadSanitizer would see.
    std::string line(512, '\0');
    va_list values;
    va_start(values, text);
    std::vsnprintf(&line[0], line.size(), text, values);
    va_end(values);
    line.resize(line.find('\0'));
    return line;
}

inline std::string waits_at(const Thread& thread) {
    switch (thread.state) {
        case State::block:
            return "waits at sync_block";
        case State::cluster:
            return "waits at sync_cluster";
        case State::warp:
            return format("waits at %s(0x%08x)", name_of(thread.op), thread.mask);
        case State::done:
            return "has exited";
        case State::ready:
            break;
    }
    return thread.spinning ? "spins in spin_wait" : "runs";
}

inline std::string listed_bits(u32 mask) {
    std::string text;
    for (u32 lane = 0; lane < warp_size; ++lane) {
        if (mask >> lane & 1) text += (text.empty() ? "" : ", ") + std::to_string(lane);
    }
    return text;
}

// One line for each stretch of threads that wait for the same thing at the same place.
inline void print_who_waits_where() {
    u32 lines_left = 40;
    for (const Block& block : machine.blocks) {
        if (block.alive == 0) continue;
        for (std::size_t first = 0, end = 0; first < block.threads.size(); first = end) {
            const Thread& one = block.threads[first];
            const std::string what = waits_at(one);
            const bool placed = one.state != State::done && one.site.file != nullptr;
            for (end = first + 1; end < block.threads.size(); ++end) {
                const Thread& next = block.threads[end];
                if (waits_at(next) != what || (placed && !same_place(next.site, one.site))) break;
            }
            if (lines_left-- == 0) return;
            std::fprintf(stderr, "weft-simt: note: block %u, threads %zu-%zu: %s",
                         one.indices.block, first, end - 1, what.c_str());
            if (placed) std::fprintf(stderr, " (%s:%d)", one.site.file, one.site.line);
            std::fputc('\n', stderr);
        }
    }
}

[[noreturn]] inline void fail(const char* kind, Site site, const std::string& message) {
    std::fprintf(stderr, "weft-simt: error: %s: %s:%d: %s\n", kind, site.file, site.line,
                 message.c_str());
    if (machine.current != nullptr) {
        const Indices& at = machine.current->indices;
        std::fprintf(stderr, "weft-simt: note: kernel %s, block %u, thread %u\n",
                     machine.kernel->name, at.block, at.thread);
    }
    print_who_waits_where();
    std::fflush(stderr);
    _exit(exit_code);
}

[[noreturn]] inline void fail_stuck() {
    const Thread* first = nullptr;
    for (const Block& block : machine.blocks) {
        for (const Thread& thread : block.threads) {
            if (first == nullptr && thread.state != State::done) first = &thread;
        }
    }
    const std::size_t unstarted = machine.order.size() - machine.started_clusters;
    std::string message = format("%u threads wait and nobody can wake them", machine.alive);
    if (unstarted > 0) {
        message += format(
            "; %zu clusters or blocks wait for a place because the launch is not cooperative",
            unstarted);
    }
    machine.current = nullptr;
    fail("deadlock", first->site, message);
}

}  // namespace weft::simt

#endif
