// Fences and relaxed accesses as C++ orders them, told to ThreadSanitizer, which knows no fences.
//
// A fence stores the clock of its thread under a token. A later relaxed store or atomic of that
// thread attaches the token to the word that it writes: a store replaces what the word carries, a
// read-modify-write adds to it. A relaxed load remembers the tokens of the word that it read, and
// the loading thread's next fence acquires them. A release store makes a token for its own word
// alone; an acquire load takes a word's tokens at once.
#ifndef WEFT_SIMT_FENCES_H
#define WEFT_SIMT_FENCES_H

#include <unordered_map>
#include <vector>

#include "fibre.h"

namespace weft::simt {

inline Fibre runtime_fibre;  // the main fibre

// What a fibre did before a release of `word` happens before what another does after an acquire.
inline void release(const Fibre& fibre, void* word) {
#ifdef WEFT_SIMT_THREAD
    become(fibre);
    __tsan_release(word);
    become(runtime_fibre);
#else
    (void)fibre, (void)word;
#endif
}
inline void acquire(const Fibre& fibre, void* word) {
#ifdef WEFT_SIMT_THREAD
    become(fibre);
    __tsan_acquire(word);
    become(runtime_fibre);
#else
    (void)fibre, (void)word;
#endif
}

// Slots are used in turn. One that is used again holds a later clock of its thread: that raises no
// false alarm, but hides a race where `slots` fences lie between what was seen and what is
// acquired.
struct Tokens {
    static constexpr unsigned slots = 8;
    std::uint64_t words[slots] = {};
    unsigned next = 0;

    void* make(const Fibre& fibre) {
        void* token = &words[next++ % slots];
        release(fibre, token);
        return token;
    }
};

struct FenceState {
    const Fibre* fibre = nullptr;
    Tokens fences, releases;
    void* last_fence = nullptr;
    std::vector<void*> seen;
};

class WordTokens {
 public:
    void fence(FenceState& thread) {
        for (void* token : thread.seen) acquire(*thread.fibre, token);
        thread.seen.clear();
        thread.last_fence = thread.fences.make(*thread.fibre);
    }

    void publish(FenceState& thread, const volatile void* word, bool keeps_earlier, bool releases) {
        void* token = releases ? thread.releases.make(*thread.fibre) : thread.last_fence;
        if (!keeps_earlier) carried_.erase(word);
        if (token != nullptr) add(carried_[word], token);
    }

    void observe(FenceState& thread, const volatile void* word, bool acquires) {
        const auto found = carried_.find(word);
        if (found == carried_.end()) return;
        for (void* token : found->second) {
            if (acquires) {
                acquire(*thread.fibre, token);
            } else {
                add(thread.seen, token);
            }
        }
    }

    void clear() { carried_.clear(); }

 private:
    static void add(std::vector<void*>& tokens, void* token) {
        for (const void* known : tokens) {
            if (known == token) return;
        }
        tokens.push_back(token);
    }

    std::unordered_map<const volatile void*, std::vector<void*>> carried_;
};

}  // namespace weft::simt

#endif
