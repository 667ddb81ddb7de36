// The device primitives that generated CUDA uses, each under one name.
//
// For a GPU (NVRTC, nvcc) they are CUDA intrinsics and PTX; for a host compiler they are the
// emulation declared in simt.h. This is the only file that holds PTX. It includes no header of a
// toolkit and none of the C++ library.
//
// - Grids, clusters and blocks have one dimension; a block is a whole number of warps.
// - A mask names exactly the lanes that take part, and all of them come. None of them has exited.
// - Every loop that waits for another thread goes through spin_wait.
// - What several threads access at once without a barrier between them goes through atomics or
//   relaxed loads and stores, also where any outcome would do.
#ifndef WEFT_DEVICE_CUH
#define WEFT_DEVICE_CUH

// Unroll a loop in device code by a constant; 1 leaves it alone.
#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define WEFT_PRAGMA(text) _Pragma(#text)
#define WEFT_UNROLL(count) WEFT_PRAGMA(unroll count)
#else
#define WEFT_UNROLL(count)
#endif

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)

#define WEFT_DEVICE __device__ __forceinline__
#define WEFT_HERE_ONLY
#define WEFT_HERE
#define WEFT_PASS_ONLY
#define WEFT_PASS

#define WEFT_SHARED_STATIC(type, name, count) __shared__ type name[count]
#define WEFT_SHARED_DYNAMIC(type, name)                                  \
    extern __shared__ __align__(16) unsigned char weft_dynamic_shared[]; \
    type* const name = reinterpret_cast<type*>(weft_dynamic_shared)

namespace weft {

using u8 = unsigned char;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

constexpr u32 warp_size = 32;
constexpr u32 full_mask = 0xffffffffu;

// The type T where it must not take part in template argument deduction.
template <class T>
struct Exact {
    using type = T;
};
template <class T>
using Value = typename Exact<T>::type;

// Two words side by side.
struct alignas(16) TwoWords {
    u64 first, second;
};

WEFT_DEVICE u32 thread_id() { return threadIdx.x; }
WEFT_DEVICE u32 block_id() { return blockIdx.x; }
WEFT_DEVICE u32 block_size() { return blockDim.x; }
WEFT_DEVICE u32 grid_size() { return gridDim.x; }
WEFT_DEVICE void count_arc() {}  // only the emulation counts what a lane does
WEFT_DEVICE void count_search() {}

WEFT_DEVICE void sync_block() { __syncthreads(); }
WEFT_DEVICE bool sync_block_or(bool predicate) { return __syncthreads_or(predicate) != 0; }
WEFT_DEVICE bool sync_block_and(bool predicate) { return __syncthreads_and(predicate) != 0; }
WEFT_DEVICE u32 sync_block_count(bool predicate) {
    return static_cast<u32>(__syncthreads_count(predicate));
}
WEFT_DEVICE void sync_warp(u32 mask) { __syncwarp(mask); }

template <class T>
WEFT_DEVICE T shuffle(u32 mask, T value, u32 lane, u32 width = warp_size) {
    return __shfl_sync(mask, value, static_cast<i32>(lane), static_cast<i32>(width));
}
template <class T>
WEFT_DEVICE T shuffle_up(u32 mask, T value, u32 delta, u32 width = warp_size) {
    return __shfl_up_sync(mask, value, delta, static_cast<i32>(width));
}
template <class T>
WEFT_DEVICE T shuffle_down(u32 mask, T value, u32 delta, u32 width = warp_size) {
    return __shfl_down_sync(mask, value, delta, static_cast<i32>(width));
}
template <class T>
WEFT_DEVICE T shuffle_xor(u32 mask, T value, u32 bits, u32 width = warp_size) {
    return __shfl_xor_sync(mask, value, static_cast<i32>(bits), static_cast<i32>(width));
}

WEFT_DEVICE u32 ballot(u32 mask, bool predicate) { return __ballot_sync(mask, predicate); }
WEFT_DEVICE bool any(u32 mask, bool predicate) { return __any_sync(mask, predicate) != 0; }
WEFT_DEVICE bool all(u32 mask, bool predicate) { return __all_sync(mask, predicate) != 0; }
template <class T>
WEFT_DEVICE u32 match_any(u32 mask, T value) {
    return __match_any_sync(mask, value);
}
WEFT_DEVICE u32 active_mask() { return __activemask(); }

// CUDA's atomics lack signed 64-bit forms where unsigned ones do the same.
template <class T>
struct AtomicWord {
    using type = T;
};
template <>
struct AtomicWord<i64> { using type = u64; };
template <class T>
WEFT_DEVICE typename AtomicWord<T>::type* atomic_word(T* word) {
    return reinterpret_cast<typename AtomicWord<T>::type*>(word);
}

template <class T>
WEFT_DEVICE T atomic_add(T* word, Value<T> value) {
    return static_cast<T>(
        atomicAdd(atomic_word(word), static_cast<typename AtomicWord<T>::type>(value)));
}
template <class T>
WEFT_DEVICE T atomic_min(T* word, Value<T> value) {
    return atomicMin(word, value);
}
template <class T>
WEFT_DEVICE T atomic_max(T* word, Value<T> value) {
    return atomicMax(word, value);
}
template <class T>
WEFT_DEVICE T atomic_or(T* word, Value<T> value) {
    return static_cast<T>(
        atomicOr(atomic_word(word), static_cast<typename AtomicWord<T>::type>(value)));
}
template <class T>
WEFT_DEVICE T atomic_and(T* word, Value<T> value) {
    return static_cast<T>(
        atomicAnd(atomic_word(word), static_cast<typename AtomicWord<T>::type>(value)));
}
template <class T>
WEFT_DEVICE T atomic_xor(T* word, Value<T> value) {
    return static_cast<T>(
        atomicXor(atomic_word(word), static_cast<typename AtomicWord<T>::type>(value)));
}
template <class T>
WEFT_DEVICE T atomic_exch(T* word, Value<T> value) {
    return static_cast<T>(
        atomicExch(atomic_word(word), static_cast<typename AtomicWord<T>::type>(value)));
}
template <class T>
WEFT_DEVICE T atomic_cas(T* word, Value<T> expected, Value<T> value) {
    using Word = typename AtomicWord<T>::type;
    return static_cast<T>(
        atomicCAS(atomic_word(word), static_cast<Word>(expected), static_cast<Word>(value)));
}

// Loads and stores at the scope of the device, by size: L2 serves them, never an L1 cache.
template <u32 bytes>
struct Memory;

// A relaxed load may move across plain accesses; what orders or writes clobbers memory. Loads are
// volatile all the same: else a compiler may move them ahead of the condition that guards p.
#define WEFT_MEMORY(bytes, word, held, form, constraint)                                          \
    template <>                                                                                   \
    struct Memory<bytes> {                                                                        \
        using Word = word;                                                                        \
        static WEFT_DEVICE Word load_relaxed(const Word* p) {                                     \
            held x;                                                                               \
            asm volatile("ld.relaxed.gpu." form " %0, [%1];" : "=" constraint(x) : "l"(p));       \
            return static_cast<Word>(x);                                                          \
        }                                                                                         \
        static WEFT_DEVICE Word load_around(const Word* p) {                                      \
            held x;                                                                               \
            asm volatile("ld.global.nc.L2::256B." form " %0, [%1];"                               \
                         : "=" constraint(x) : "l"(p));                                           \
            return static_cast<Word>(x);                                                          \
        }                                                                                         \
        static WEFT_DEVICE Word load_acquire(const Word* p) {                                     \
            held x;                                                                               \
            asm volatile("ld.acquire.gpu." form " %0, [%1];"                                      \
                         : "=" constraint(x) : "l"(p) : "memory");                                \
            return static_cast<Word>(x);                                                          \
        }                                                                                         \
        static WEFT_DEVICE void store_relaxed(Word* p, Word value) {                              \
            held x = value;                                                                       \
            asm volatile("st.relaxed.gpu." form " [%0], %1;" ::"l"(p), constraint(x) : "memory"); \
        }                                                                                         \
        static WEFT_DEVICE void store_release(Word* p, Word value) {                              \
            held x = value;                                                                       \
            asm volatile("st.release.gpu." form " [%0], %1;" ::"l"(p), constraint(x) : "memory"); \
        }                                                                                         \
    };
WEFT_MEMORY(1, u8, unsigned short, "u8", "h")
WEFT_MEMORY(2, unsigned short, unsigned short, "u16", "h")
WEFT_MEMORY(4, u32, u32, "u32", "r")
WEFT_MEMORY(8, u64, u64, "u64", "l")
#undef WEFT_MEMORY

// A value of another type with the same bits.
template <class To, class From>
WEFT_DEVICE To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the two types must be of one size");
    union {
        From from;
        To to;
    } bits;
    bits.from = from;
    return bits.to;
}

template <class T>
using WordOf = typename Memory<sizeof(T)>::Word;

template <class T>
WEFT_DEVICE T load_relaxed(const T* word) {
    return bits_as<T>(Memory<sizeof(T)>::load_relaxed(reinterpret_cast<const WordOf<T>*>(word)));
}
template <class T>
WEFT_DEVICE T load_acquire(const T* word) {
    return bits_as<T>(Memory<sizeof(T)>::load_acquire(reinterpret_cast<const WordOf<T>*>(word)));
}
template <class T>
WEFT_DEVICE T load_volatile(const T* word) {
    return *static_cast<const volatile T*>(word);
}
template <class T>
WEFT_DEVICE void store_relaxed(T* word, Value<T> value) {
    Memory<sizeof(T)>::store_relaxed(reinterpret_cast<WordOf<T>*>(word), bits_as<WordOf<T>>(value));
}
template <class T>
WEFT_DEVICE void store_release(T* word, Value<T> value) {
    Memory<sizeof(T)>::store_release(reinterpret_cast<WordOf<T>*>(word), bits_as<WordOf<T>>(value));
}
template <class T>
WEFT_DEVICE void store_volatile(T* word, Value<T> value) {
    *static_cast<volatile T*>(word) = value;
}

// A load of what is not written while the kernel runs: it may come from the read-only cache. Where
// WEFT_FETCH_AROUND is defined, the second-level cache fetches what lies around the word as well.
template <class T>
WEFT_DEVICE T load_constant(const T* word) {
#if defined(WEFT_FETCH_AROUND) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return bits_as<T>(Memory<sizeof(T)>::load_around(reinterpret_cast<const WordOf<T>*>(word)));
#else
    return __ldg(word);
#endif
}

// Prefetch what is soon read into the second-level cache, without waiting for it.
template <class T>
WEFT_DEVICE void prefetch(const T* word) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(word));
}

// Two words that are swapped as one: from sm_90 on, by a compiler that knows the instruction.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
constexpr bool has_wide_swap = true;
WEFT_DEVICE TwoWords atomic_cas(TwoWords* word, TwoWords expected, TwoWords value) {
    TwoWords seen;
    asm volatile(
        "{\n\t"
        ".reg .b128 seen, expected, value;\n\t"
        "mov.b128 expected, {%2, %3};\n\t"
        "mov.b128 value, {%4, %5};\n\t"
        "atom.relaxed.gpu.global.cas.b128 seen, [%6], expected, value;\n\t"
        "mov.b128 {%0, %1}, seen;\n\t"
        "}"
        : "=l"(seen.first), "=l"(seen.second)
        : "l"(expected.first), "l"(expected.second), "l"(value.first), "l"(value.second),
          "l"(__cvta_generic_to_global(word)) : "memory");
    return seen;
}
#else
constexpr bool has_wide_swap = false;
WEFT_DEVICE TwoWords atomic_cas(TwoWords* word, TwoWords, TwoWords) {
    __trap();
    return *word;
}
#endif

WEFT_DEVICE void fence_block() { __threadfence_block(); }
WEFT_DEVICE void fence_device() { __threadfence(); }
WEFT_DEVICE void fence_system() { __threadfence_system(); }

// Wait until done() is true; a thread of the same warp may be the one that makes it so.
template <class Done>
WEFT_DEVICE void spin_wait(Done done) {
    constexpr u32 longest_ns = 256;
    for (u32 pause_ns = 8; !done(); pause_ns = pause_ns < longest_ns ? 2 * pause_ns : longest_ns) {
        __nanosleep(pause_ns);
    }
}

// The same without a pause: for what comes within a microsecond.
template <class Done>
WEFT_DEVICE void spin_hard(Done done) {
    while (!done()) continue;
}

// At most so many threads in a block, and at least so many blocks at once: that bounds registers.
#define WEFT_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)

// Clusters of blocks with one shared memory (sm_90 on); elsewhere a cluster is one block.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
WEFT_DEVICE u32 cluster_rank() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
WEFT_DEVICE u32 cluster_size() {
    u32 size;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}
WEFT_DEVICE void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
template <class T>
WEFT_DEVICE T* cluster_pointer(T* pointer, u32 rank) {
    u64 mapped;
    asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(pointer), "r"(rank));
    return reinterpret_cast<T*>(mapped);
}
#else
WEFT_DEVICE u32 cluster_rank() { return 0; }
WEFT_DEVICE u32 cluster_size() { return 1; }
WEFT_DEVICE void sync_cluster() { __syncthreads(); }
template <class T>
WEFT_DEVICE T* cluster_pointer(T* pointer, u32) {
    return pointer;
}
#endif

WEFT_DEVICE u32 popcount(u32 x) { return static_cast<u32>(__popc(x)); }
WEFT_DEVICE u32 popcount(u64 x) { return static_cast<u32>(__popcll(x)); }
WEFT_DEVICE u32 clz(u32 x) { return static_cast<u32>(__clz(static_cast<i32>(x))); }
WEFT_DEVICE u32 clz(u64 x) { return static_cast<u32>(__clzll(static_cast<i64>(x))); }
WEFT_DEVICE u32 ffs(u32 x) { return static_cast<u32>(__ffs(static_cast<i32>(x))); }
WEFT_DEVICE u32 ffs(u64 x) { return static_cast<u32>(__ffsll(static_cast<i64>(x))); }

WEFT_DEVICE u64 clock_ticks() { return static_cast<u64>(clock64()); }
// Of a clock that all multiprocessors share.
WEFT_DEVICE u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
WEFT_DEVICE void trap() { __trap(); }

}  // namespace weft

#else
#include "simt.h"
#endif

namespace weft {

// Neighbouring elements that one instruction moves: up to 16 bytes, at a multiple of their size.
template <class T, u32 count>
struct alignas(sizeof(T) * count) Pack {
    static_assert(sizeof(T) * count <= 16, "more takes another instruction");
    T items[count];
};

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)

template <u32 count, class T>
WEFT_DEVICE Pack<T, count> load_pack(const T* first) {
    return *reinterpret_cast<const Pack<T, count>*>(first);
}
template <u32 count, class T>
WEFT_DEVICE Pack<T, count> load_pack_constant(const T* first) {
    using Found = Pack<T, count>;
    if constexpr (sizeof(Found) == 16) {
        return bits_as<Found>(__ldg(reinterpret_cast<const uint4*>(first)));
    } else {
        return bits_as<Found>(__ldg(reinterpret_cast<const WordOf<Found>*>(first)));
    }
}
template <u32 count, class T>
WEFT_DEVICE void store_pack(T* first, const Pack<T, count>& pack) {
    *reinterpret_cast<Pack<T, count>*>(first) = pack;
}

// Each element is added atomically; several floats by one instruction, from sm_90 on.
template <u32 count, class T>
WEFT_DEVICE void add_pack(T* first, const Pack<T, count>& pack) {
    for (u32 i = 0; i < count; ++i) atomic_add(first + i, pack.items[i]);
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
WEFT_DEVICE void add_pack(float* first, const Pack<float, 2>& pack) {
    const auto place = __cvta_generic_to_global(first);
    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(place),
                 "f"(pack.items[0]), "f"(pack.items[1]) : "memory");
}
WEFT_DEVICE void add_pack(float* first, const Pack<float, 4>& pack) {
    const auto place = __cvta_generic_to_global(first);
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(place),
                 "f"(pack.items[0]), "f"(pack.items[1]), "f"(pack.items[2]), "f"(pack.items[3]) : "memory");
}
#endif

#else

template <u32 count, class T>
void check_pack(const T* first) {
    if (reinterpret_cast<u64>(first) % sizeof(Pack<T, count>) != 0) trap();
}
template <u32 count, class T>
Pack<T, count> load_pack(const T* first) {
    check_pack<count>(first);
    Pack<T, count> pack;
    for (u32 i = 0; i < count; ++i) pack.items[i] = first[i];
    return pack;
}
template <u32 count, class T>
Pack<T, count> load_pack_constant(const T* first) {
    return load_pack<count>(first);
}
template <u32 count, class T>
void store_pack(T* first, const Pack<T, count>& pack) {
    check_pack<count>(first);
    for (u32 i = 0; i < count; ++i) first[i] = pack.items[i];
}
template <u32 count, class T>
void add_pack(T* first, const Pack<T, count>& pack WEFT_HERE) {
    check_pack<count>(first);
    for (u32 i = 0; i < count; ++i) atomic_add(first + i, pack.items[i], site);
}

#endif

}  // namespace weft

// Shared memory, and the only way to declare it:
//   WEFT_SHARED(type, name, count);   an array of constant size, one per declaration
//   WEFT_SHARED(type, name);          a pointer to the bytes that the launch asked for
// In the emulation both are pointers: sizeof(name) is not the size of the array.
#define WEFT_SHARED_PICK(first, second, third, macro, ...) macro
#define WEFT_SHARED(...) \
    WEFT_SHARED_PICK(__VA_ARGS__, WEFT_SHARED_STATIC, WEFT_SHARED_DYNAMIC, )(__VA_ARGS__)

namespace weft {

WEFT_DEVICE u32 lane_id() { return thread_id() % warp_size; }
WEFT_DEVICE u32 warp_id() { return thread_id() / warp_size; }
WEFT_DEVICE u32 lanes_below() { return (1u << lane_id()) - 1; }
WEFT_DEVICE i64 global_id() { return static_cast<i64>(block_id()) * block_size() + thread_id(); }
WEFT_DEVICE i64 global_size() { return static_cast<i64>(grid_size()) * block_size(); }

// Integers wrap: signed sums are made in the unsigned type.
struct Add {
    WEFT_DEVICE i32 operator()(i32 a, i32 b) const { return static_cast<i32>(u32(a) + u32(b)); }
    WEFT_DEVICE u32 operator()(u32 a, u32 b) const { return a + b; }
    WEFT_DEVICE i64 operator()(i64 a, i64 b) const { return static_cast<i64>(u64(a) + u64(b)); }
    WEFT_DEVICE u64 operator()(u64 a, u64 b) const { return a + b; }
    WEFT_DEVICE float operator()(float a, float b) const { return a + b; }
    WEFT_DEVICE double operator()(double a, double b) const { return a + b; }
};
// A NaN loses against every number.
struct Min {
    template <class T>
    WEFT_DEVICE T operator()(T a, T b) const {
        return b < a || a != a ? b : a;
    }
};
struct Max {
    template <class T>
    WEFT_DEVICE T operator()(T a, T b) const {
        return b > a || a != a ? b : a;
    }
};
struct Or {
    template <class T>
    WEFT_DEVICE T operator()(T a, T b) const {
        return a | b;
    }
};
struct And {
    template <class T>
    WEFT_DEVICE T operator()(T a, T b) const {
        return a & b;
    }
};

// The values of the lanes in `mask`, combined; all of these lanes get the same result.
template <class T, class Combine>
WEFT_DEVICE T reduce(u32 mask, T value, Combine combine WEFT_HERE) {
    if (mask == full_mask) {
        for (u32 bit = warp_size / 2; bit > 0; bit /= 2) {
            value = combine(value, shuffle_xor(mask, value, bit, warp_size WEFT_PASS));
        }
        return value;
    }
    T total = shuffle(mask, value, ffs(mask) - 1, warp_size WEFT_PASS);
    for (u32 rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
        total = combine(total, shuffle(mask, value, ffs(rest) - 1, warp_size WEFT_PASS));
    }
    return total;
}

template <class T>
WEFT_DEVICE T reduce_add(u32 mask, T value WEFT_HERE) {
    return reduce(mask, value, Add() WEFT_PASS);
}
template <class T>
WEFT_DEVICE T reduce_min(u32 mask, T value WEFT_HERE) {
    return reduce(mask, value, Min() WEFT_PASS);
}
template <class T>
WEFT_DEVICE T reduce_max(u32 mask, T value WEFT_HERE) {
    return reduce(mask, value, Max() WEFT_PASS);
}
template <class T>
WEFT_DEVICE T reduce_or(u32 mask, T value WEFT_HERE) {
    return reduce(mask, value, Or() WEFT_PASS);
}
template <class T>
WEFT_DEVICE T reduce_and(u32 mask, T value WEFT_HERE) {
    return reduce(mask, value, And() WEFT_PASS);
}

// One instruction for 32-bit integers (sm_80 on).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
WEFT_DEVICE u32 reduce_add(u32 mask, u32 value) { return __reduce_add_sync(mask, value); }
WEFT_DEVICE i32 reduce_add(u32 mask, i32 value) { return __reduce_add_sync(mask, value); }
WEFT_DEVICE u32 reduce_min(u32 mask, u32 value) { return __reduce_min_sync(mask, value); }
WEFT_DEVICE i32 reduce_min(u32 mask, i32 value) { return __reduce_min_sync(mask, value); }
WEFT_DEVICE u32 reduce_max(u32 mask, u32 value) { return __reduce_max_sync(mask, value); }
WEFT_DEVICE i32 reduce_max(u32 mask, i32 value) { return __reduce_max_sync(mask, value); }
WEFT_DEVICE u32 reduce_or(u32 mask, u32 value) { return __reduce_or_sync(mask, value); }
WEFT_DEVICE u32 reduce_and(u32 mask, u32 value) { return __reduce_and_sync(mask, value); }
#endif

// Counts, which are mostly small.
WEFT_DEVICE u64 reduce_counts(u64 count WEFT_HERE) {
    if (all(full_mask, count >> 26 == 0 WEFT_PASS)) {
        return reduce_add(full_mask, static_cast<u32>(count) WEFT_PASS);
    }
    return reduce_add(full_mask, count WEFT_PASS);
}

// Replace the float at `word` by combine(it, value) and return the old one; nothing is written
// where nothing changes.
template <class Word, class T, class Combine>
WEFT_DEVICE T atomic_combine(T* word, T value, Combine combine WEFT_HERE) {
    union Bits {
        T value;
        Word word;
    };
    Bits seen, next;
    seen.value = load_relaxed(word WEFT_PASS);
    while (true) {
        next.value = combine(seen.value, value);
        if (next.value == seen.value || next.value != next.value) return seen.value;
        const Word old = atomic_cas(reinterpret_cast<Word*>(word), seen.word, next.word WEFT_PASS);
        if (old == seen.word) return seen.value;
        seen.word = old;
    }
}

// Minimum and maximum of floats by compare-and-swap; a NaN never wins, and a number replaces it.
WEFT_DEVICE float atomic_min(float* word, float value WEFT_HERE) {
    return atomic_combine<u32>(word, value, Min() WEFT_PASS);
}
WEFT_DEVICE double atomic_min(double* word, double value WEFT_HERE) {
    return atomic_combine<u64>(word, value, Min() WEFT_PASS);
}
WEFT_DEVICE float atomic_max(float* word, float value WEFT_HERE) {
    return atomic_combine<u32>(word, value, Max() WEFT_PASS);
}
WEFT_DEVICE double atomic_max(double* word, double value WEFT_HERE) {
    return atomic_combine<u64>(word, value, Max() WEFT_PASS);
}

// A barrier over all blocks of a cooperative launch, on one word that was zero at first.
//
// The top bit is the sense. Each barrier adds 2^31 in all: every block but the first adds one, the
// first adds what is missing, so the bit turns when the last block has come and the lower bits are
// zero again. No block can overtake: the next barrier cannot be complete before this one was left
// by all. The fences carry what was written before the barrier, by any thread of any block, to all
// that is read after it.
WEFT_DEVICE void sync_grid(u32* word WEFT_HERE) {
    constexpr u32 sense = 0x80000000u;
    sync_block(WEFT_PASS_ONLY);
    if (thread_id() == 0) {
        fence_device();
        const u32 share = block_id() == 0 ? sense - (grid_size() - 1) : 1;
        const u32 seen = atomic_add(word, share WEFT_PASS);
        spin_hard([=] { return ((load_relaxed(word WEFT_PASS) ^ seen) & sense) != 0; } WEFT_PASS);
        fence_device();
    }
    sync_block(WEFT_PASS_ONLY);
}

// Report trouble through a word in global memory; the first code stays. The kernel may go on.
WEFT_DEVICE void fault(u32* word, u32 code WEFT_HERE) { atomic_cas(word, 0u, code WEFT_PASS); }

}  // namespace weft

#endif
