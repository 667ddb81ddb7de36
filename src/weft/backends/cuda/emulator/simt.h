// What a kernel's translation unit sees of the host emulation: the host twins of device.cuh's
// primitives.
//
// A CUDA thread is a fibre, and all fibres of a launch run in one OS thread, so a run is repeated
// exactly by its seed. The declarations of namespace weft::simt are implemented by simt.cpp, which
// is compiled apart and without instrumentation; this header includes nothing, so that a kernel
// compiles in a fraction of a second.
#ifndef WEFT_SIMT_H
#define WEFT_SIMT_H

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#define WEFT_DEVICE inline

// Every primitive that can wait or be misused takes the place of its call as a hidden last
// argument.
#define WEFT_HERE_ONLY ::weft::simt::Site site = {__builtin_FILE(), __builtin_LINE()}
#define WEFT_HERE , WEFT_HERE_ONLY
#define WEFT_PASS_ONLY site
#define WEFT_PASS , site

// A static local is one object per instantiation of the function around it, as a __shared__ array
// is. The name is a pointer, which a lambda captures as it would an array of static storage.
#define WEFT_SHARED_STATIC(type, name, count) \
    static char weft_key_##name;              \
    type* const name =                        \
        static_cast<type*>(::weft::simt::shared_block(&weft_key_##name, sizeof(type[count])))
#define WEFT_SHARED_DYNAMIC(type, name) \
    type* const name = static_cast<type*>(::weft::simt::shared_dynamic())

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

namespace simt {

struct Site {
    const char* file;
    int line;
};

// The indices and sizes of the thread that runs.
struct Indices {
    u32 thread, block, block_size, grid_size, cluster_rank, cluster_size;
};
extern Indices here;

enum class Vote { none, any, all, count };
enum class WarpOp { sync, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, match };

u32 sync_block(Vote vote, bool predicate, Site site);
void sync_cluster(Site site);
u64 warp_op(WarpOp op, u32 mask, u64 value, u32 operand, u32 width, Site site);
u32 active_mask(Site site);

// What all launches of a process did: atomics, arcs and searches lane by lane, warp iterations as
// often as the busiest lane of a warp took an arc between two meetings of its lanes, the others once
// for all that meet.
struct Counts {
    u64 atomics, shuffles, votes, warp_barriers, block_barriers, arcs, warp_iterations, searches;
};
extern Counts counts;
void count_atomic();  // compiled apart: no access that ThreadSanitizer sees
void count_arc();
void count_search();

void* shared_block(const void* key, u64 bytes);
void* shared_dynamic();
void* shared_of(const void* pointer, u32 rank, Site site);

// A place where another thread may be chosen to run; checks that the word is aligned.
void step(const volatile void* word, u64 bytes, Site site);
void begin_spin(Site site);
void spin();
void end_spin();

// The order of memory as ThreadSanitizer is to see it (fences.h); the other builds need none of it.
enum class Order { relaxed, ordered };
#ifdef WEFT_SIMT_THREAD
void fence(bool device);
void publish(const volatile void* word, bool keeps_earlier, Order order);
void observe(const volatile void* word, Order order);
#else
inline void fence(bool) {}
inline void publish(const volatile void*, bool, Order) {}
inline void observe(const volatile void*, Order) {}
#endif

u64 clock();
[[noreturn]] void trap(const char* message, Site site);

// A kernel as the runner launches it: pointers to the values of its arguments, as cuLaunchKernel
// takes them.
struct Kernel {
    const char* name;
    void (*call)(void* const* args);
    const u32* arg_bytes;
    u32 num_args;
};
extern const Kernel kernels[];
extern const u32 num_kernels;

struct Shape {
    u32 grid, block, shared_bytes, cluster;
    bool cooperative;
};
void launch(const Kernel& kernel, void* const* args, const Shape& shape, u64 seed);

template <u32... indices>
struct Pack {};
template <u32 count, u32... indices>
struct CountedPack : CountedPack<count - 1, count - 1, indices...> {};
template <u32... indices>
struct CountedPack<0, indices...> {
    using type = Pack<indices...>;
};

template <auto kernel>
struct Entry;
template <class... Args, void (*kernel)(Args...)>
struct Entry<kernel> {
    static constexpr u32 bytes[sizeof...(Args) + 1] = {sizeof(Args)..., 0};

    template <u32... indices>
    static void unpack(void* const* args, Pack<indices...>) {
        kernel(*static_cast<Args*>(args[indices])...);
    }
    static void call(void* const* args) {
        unpack(args, typename CountedPack<sizeof...(Args)>::type{});
    }
    static constexpr Kernel named(const char* name) { return {name, call, bytes, sizeof...(Args)}; }
};

template <class T>
u64 to_bits(T value) {
    static_assert(sizeof(T) <= 8, "lanes exchange values of at most 64 bits");
    u64 bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
T from_bits(u64 bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}

// Integers wrap.
template <class T>
T sum(T a, T b) {
    T total;
    __builtin_add_overflow(a, b, &total);
    return total;
}
inline float sum(float a, float b) { return a + b; }
inline double sum(double a, double b) { return a + b; }

// Every atomic is one compare-and-swap loop: sanitizers see a relaxed atomic access.
template <class T, class F>
T atomic_update(T* word, F next_of, Site site) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics act on words of 32 or 64 bits");
    step(word, sizeof(T), site);
    T old, next;
    __atomic_load(word, &old, __ATOMIC_RELAXED);
    do {
        next = next_of(old);
    } while (
        !__atomic_compare_exchange(word, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    observe(word, Order::relaxed);
    publish(word, true, Order::relaxed);
    count_atomic();
    return old;
}

}  // namespace simt

inline void count_arc() { simt::count_arc(); }
inline void count_search() { simt::count_search(); }

inline u32 thread_id() { return simt::here.thread; }
inline u32 block_id() { return simt::here.block; }
inline u32 block_size() { return simt::here.block_size; }
inline u32 grid_size() { return simt::here.grid_size; }

inline void sync_block(WEFT_HERE_ONLY) { simt::sync_block(simt::Vote::none, false, site); }
inline bool sync_block_or(bool predicate WEFT_HERE) {
    return simt::sync_block(simt::Vote::any, predicate, site) != 0;
}
inline bool sync_block_and(bool predicate WEFT_HERE) {
    return simt::sync_block(simt::Vote::all, predicate, site) != 0;
}
inline u32 sync_block_count(bool predicate WEFT_HERE) {
    return simt::sync_block(simt::Vote::count, predicate, site);
}

inline void sync_warp(u32 mask WEFT_HERE) {
    simt::warp_op(simt::WarpOp::sync, mask, 0, 0, 0, site);
}

template <class T>
T shuffle(u32 mask, T value, u32 lane, u32 width = warp_size WEFT_HERE) {
    return simt::from_bits<T>(
        simt::warp_op(simt::WarpOp::shuffle, mask, simt::to_bits(value), lane, width, site));
}
template <class T>
T shuffle_up(u32 mask, T value, u32 delta, u32 width = warp_size WEFT_HERE) {
    return simt::from_bits<T>(
        simt::warp_op(simt::WarpOp::shuffle_up, mask, simt::to_bits(value), delta, width, site));
}
template <class T>
T shuffle_down(u32 mask, T value, u32 delta, u32 width = warp_size WEFT_HERE) {
    return simt::from_bits<T>(
        simt::warp_op(simt::WarpOp::shuffle_down, mask, simt::to_bits(value), delta, width, site));
}
template <class T>
T shuffle_xor(u32 mask, T value, u32 bits, u32 width = warp_size WEFT_HERE) {
    return simt::from_bits<T>(
        simt::warp_op(simt::WarpOp::shuffle_xor, mask, simt::to_bits(value), bits, width, site));
}

inline u32 ballot(u32 mask, bool predicate WEFT_HERE) {
    return static_cast<u32>(simt::warp_op(simt::WarpOp::ballot, mask, predicate, 0, 0, site));
}
inline bool any(u32 mask, bool predicate WEFT_HERE) { return ballot(mask, predicate, site) != 0; }
inline bool all(u32 mask, bool predicate WEFT_HERE) {
    return ballot(mask, predicate, site) == mask;
}
template <class T>
u32 match_any(u32 mask, T value WEFT_HERE) {
    return static_cast<u32>(
        simt::warp_op(simt::WarpOp::match, mask, simt::to_bits(value), 0, 0, site));
}
inline u32 active_mask(WEFT_HERE_ONLY) { return simt::active_mask(site); }

template <class T>
T atomic_add(T* word, Value<T> value WEFT_HERE) {
    return simt::atomic_update(word, [=](T old) { return simt::sum(old, value); }, site);
}
template <class T>
T atomic_min(T* word, Value<T> value WEFT_HERE) {
    return simt::atomic_update(word, [=](T old) { return value < old ? value : old; }, site);
}
template <class T>
T atomic_max(T* word, Value<T> value WEFT_HERE) {
    return simt::atomic_update(word, [=](T old) { return value > old ? value : old; }, site);
}
template <class T>
T atomic_or(T* word, Value<T> value WEFT_HERE) {
    return simt::atomic_update(word, [=](T old) { return old | value; }, site);
}
template <class T>
T atomic_and(T* word, Value<T> value WEFT_HERE) {
    return simt::atomic_update(word, [=](T old) { return old & value; }, site);
}
template <class T>
T atomic_xor(T* word, Value<T> value WEFT_HERE) {
    return simt::atomic_update(word, [=](T old) { return old ^ value; }, site);
}
template <class T>
T atomic_exch(T* word, Value<T> value WEFT_HERE) {
    return simt::atomic_update(word, [=](T) { return value; }, site);
}
template <class T>
T atomic_cas(T* word, Value<T> expected, Value<T> value WEFT_HERE) {
    simt::step(word, sizeof(T), site);
    const bool written = __atomic_compare_exchange(word, &expected, &value, false, __ATOMIC_RELAXED,
                                                   __ATOMIC_RELAXED);
    simt::observe(word, simt::Order::relaxed);
    if (written) simt::publish(word, true, simt::Order::relaxed);
    simt::count_atomic();
    return expected;
}

// Two words that are swapped as one; WEFT_NO_WIDE_SWAP stands for a device that cannot. Fibres are
// not switched in between, and sanitizers see atomic accesses to each word.
#ifdef WEFT_NO_WIDE_SWAP
constexpr bool has_wide_swap = false;
#else
constexpr bool has_wide_swap = true;
#endif
inline TwoWords atomic_cas(TwoWords* word, TwoWords expected, TwoWords value WEFT_HERE) {
    simt::step(word, sizeof(TwoWords), site);
    u64* const words[] = {&word->first, &word->second};
    const TwoWords seen = {__atomic_load_n(words[0], __ATOMIC_RELAXED),
                       __atomic_load_n(words[1], __ATOMIC_RELAXED)};
    const bool written = seen.first == expected.first && seen.second == expected.second;
    const u64 fresh[] = {value.first, value.second};
    for (u32 i = 0; i < 2; ++i) {
        if (written) __atomic_store_n(words[i], fresh[i], __ATOMIC_RELAXED);
        simt::observe(words[i], simt::Order::relaxed);
        if (written) simt::publish(words[i], true, simt::Order::relaxed);
    }
    simt::count_atomic();
    return seen;
}

namespace simt {

template <class T>
T load(const T* word, Order order, Site site) {
    step(word, sizeof(T), site);
    T value;
    __atomic_load(word, &value, __ATOMIC_RELAXED);
    observe(word, order);
    return value;
}
template <class T>
void store(T* word, T value, Order order, Site site) {
    step(word, sizeof(T), site);
    publish(word, false, order);
    __atomic_store(word, &value, __ATOMIC_RELAXED);
}

}  // namespace simt

template <class T>
T load_relaxed(const T* word WEFT_HERE) {
    return simt::load(word, simt::Order::relaxed, site);
}
template <class T>
T load_volatile(const T* word WEFT_HERE) {
    return simt::load(word, simt::Order::relaxed, site);
}
template <class T>
T load_constant(const T* word) {
    return *word;
}
template <class T>
void prefetch(const T*) {}
template <class T>
T load_acquire(const T* word WEFT_HERE) {
    return simt::load(word, simt::Order::ordered, site);
}
template <class T>
void store_relaxed(T* word, Value<T> value WEFT_HERE) {
    simt::store(word, value, simt::Order::relaxed, site);
}
template <class T>
void store_volatile(T* word, Value<T> value WEFT_HERE) {
    simt::store(word, value, simt::Order::relaxed, site);
}
template <class T>
void store_release(T* word, Value<T> value WEFT_HERE) {
    simt::store(word, value, simt::Order::ordered, site);
}

inline void fence_block() { simt::fence(false); }
inline void fence_device() { simt::fence(true); }
inline void fence_system() { simt::fence(true); }

template <class Done>
void spin_wait(Done done WEFT_HERE) {
    if (done()) return;
    simt::begin_spin(site);
    do {
        simt::spin();
    } while (!done());
    simt::end_spin();
}
template <class Done>
void spin_hard(Done done WEFT_HERE) {
    spin_wait(done WEFT_PASS);
}
#define WEFT_BOUNDS(threads, blocks)

inline u32 cluster_rank() { return simt::here.cluster_rank; }
inline u32 cluster_size() { return simt::here.cluster_size; }
inline void sync_cluster(WEFT_HERE_ONLY) { simt::sync_cluster(site); }
template <class T>
T* cluster_pointer(T* pointer, u32 rank WEFT_HERE) {
    return static_cast<T*>(simt::shared_of(pointer, rank, site));
}

inline u32 popcount(u32 x) { return static_cast<u32>(__builtin_popcount(x)); }
inline u32 popcount(u64 x) { return static_cast<u32>(__builtin_popcountll(x)); }
inline u32 clz(u32 x) { return x == 0 ? 32u : static_cast<u32>(__builtin_clz(x)); }
inline u32 clz(u64 x) { return x == 0 ? 64u : static_cast<u32>(__builtin_clzll(x)); }
inline u32 ffs(u32 x) { return static_cast<u32>(__builtin_ffs(static_cast<i32>(x))); }
inline u32 ffs(u64 x) { return static_cast<u32>(__builtin_ffsll(static_cast<i64>(x))); }

inline u64 clock_ticks() { return simt::clock(); }
inline u64 nanoseconds() { return simt::clock(); }
[[noreturn]] inline void trap(WEFT_HERE_ONLY) { simt::trap("the kernel called trap()", site); }

}  // namespace weft

#endif
