// Live access: atomic loads, stores and updates of single elements of any stored type.
//
// A GPU has atomics on words of 32 and 64 bits. Elements of 8 and 16 bits are updated by
// compare-and-swap on the aligned 32-bit word around them, so arrays of them must be followed by
// memory up to the next multiple of 4 bytes, as device allocations are. All updates return the old
// value. Everything is relaxed: it never tears and never loses an update, and orders nothing else.
#ifndef WEFT_MEMORY_CUH
#define WEFT_MEMORY_CUH

#include "numbers.cuh"

namespace weft {

template <class T>
WEFT_DEVICE T at_load(const T* array, i64 i WEFT_HERE) {
    return load_relaxed(array + i WEFT_PASS);
}
template <class T>
WEFT_DEVICE void at_store(T* array, i64 i, Value<T> value WEFT_HERE) {
    store_relaxed(array + i, value WEFT_PASS);
}

// How elements of a size are swapped, by their bits.
template <u32 bytes>
struct Swap;
template <>
struct Swap<4> {
    using Bits = u32;
    static WEFT_DEVICE u32 swap(void* place, u32 expected, u32 value WEFT_HERE) {
        return atomic_cas(static_cast<u32*>(place), expected, value WEFT_PASS);
    }
};
template <>
struct Swap<8> {
    using Bits = u64;
    static WEFT_DEVICE u64 swap(void* place, u64 expected, u64 value WEFT_HERE) {
        return atomic_cas(static_cast<u64*>(place), expected, value WEFT_PASS);
    }
};
// Part of a word: others may change the rest of it meanwhile, which is no reason to give up.
template <class Narrow>
struct SwapPart {
    using Bits = Narrow;
    static WEFT_DEVICE Narrow swap(void* place, Narrow expected, Narrow value WEFT_HERE) {
        constexpr u32 mask = (1u << width_of<Narrow>) - 1;
        const u64 address = reinterpret_cast<u64>(place);
        u32* word = reinterpret_cast<u32*>(address - address % sizeof(u32));
        const u32 shift = 8 * static_cast<u32>(address % sizeof(u32));  // little-endian
        u32 seen = load_relaxed(word WEFT_PASS);
        while (true) {
            const Narrow part = static_cast<Narrow>(seen >> shift & mask);
            if (part != expected) return part;
            const u32 next = (seen & ~(mask << shift)) | u32(value) << shift;
            const u32 old = atomic_cas(word, seen, next WEFT_PASS);
            if (old == seen) return expected;
            seen = old;
        }
    }
};
template <>
struct Swap<1> : SwapPart<u8> {};
template <>
struct Swap<2> : SwapPart<u16> {};

template <class T>
using BitsOf = typename Swap<sizeof(T)>::Bits;

// Write `value` if the element has the bits of `expected`.
template <class T>
WEFT_DEVICE T at_cas(T* array, i64 i, Value<T> expected, Value<T> value WEFT_HERE) {
    return same_bits<T>(Swap<sizeof(T)>::swap(array + i, same_bits<BitsOf<T>>(expected),
                                              same_bits<BitsOf<T>>(value) WEFT_PASS));
}

// Replace the element by combine(it, value); nothing is written where its bits stay.
template <class T, class Combine>
WEFT_DEVICE T combine_at(T* array, i64 i, Value<T> value, Combine combine WEFT_HERE) {
    using Bits = BitsOf<T>;
    Bits seen = same_bits<Bits>(load_relaxed(array + i WEFT_PASS));
    while (true) {
        const Bits next = same_bits<Bits>(static_cast<T>(combine(same_bits<T>(seen), value)));
        if (next == seen) return same_bits<T>(seen);
        const Bits old = Swap<sizeof(T)>::swap(array + i, seen, next WEFT_PASS);
        if (old == seen) return same_bits<T>(seen);
        seen = old;
    }
}

// Built-in monoids: one instruction where the element is a word.
template <class T, bool word = (sizeof(T) >= 4)>
struct Update {
    static WEFT_DEVICE T add(T* p, T x WEFT_HERE) { return atomic_add(p, x WEFT_PASS); }
    static WEFT_DEVICE T min(T* p, T x WEFT_HERE) { return atomic_min(p, x WEFT_PASS); }
    static WEFT_DEVICE T max(T* p, T x WEFT_HERE) { return atomic_max(p, x WEFT_PASS); }
    static WEFT_DEVICE T set_or(T* p, T x WEFT_HERE) { return atomic_or(p, x WEFT_PASS); }
    static WEFT_DEVICE T set_and(T* p, T x WEFT_HERE) { return atomic_and(p, x WEFT_PASS); }
};
template <class T>
struct Update<T, false> {
    static WEFT_DEVICE T add(T* p, T x WEFT_HERE) {
        return combine_at(p, 0, x, [](T a, T b) { return weft::add(a, b); } WEFT_PASS);
    }
    static WEFT_DEVICE T min(T* p, T x WEFT_HERE) {
        return combine_at(p, 0, x, [](T a, T b) { return minimum(a, b); } WEFT_PASS);
    }
    static WEFT_DEVICE T max(T* p, T x WEFT_HERE) {
        return combine_at(p, 0, x, [](T a, T b) { return maximum(a, b); } WEFT_PASS);
    }
    static WEFT_DEVICE T set_or(T* p, T x WEFT_HERE) {
        return combine_at(p, 0, x, [](T a, T b) { return bit_or(a, b); } WEFT_PASS);
    }
    static WEFT_DEVICE T set_and(T* p, T x WEFT_HERE) {
        return combine_at(p, 0, x, [](T a, T b) { return bit_and(a, b); } WEFT_PASS);
    }
};

template <class T>
WEFT_DEVICE T at_add(T* array, i64 i, Value<T> value WEFT_HERE) {
    return Update<T>::add(array + i, value WEFT_PASS);
}
template <class T>
WEFT_DEVICE T at_min(T* array, i64 i, Value<T> value WEFT_HERE) {
    return Update<T>::min(array + i, value WEFT_PASS);
}
template <class T>
WEFT_DEVICE T at_max(T* array, i64 i, Value<T> value WEFT_HERE) {
    return Update<T>::max(array + i, value WEFT_PASS);
}
template <class T>
WEFT_DEVICE T at_or(T* array, i64 i, Value<T> value WEFT_HERE) {
    return Update<T>::set_or(array + i, value WEFT_PASS);
}
template <class T>
WEFT_DEVICE T at_and(T* array, i64 i, Value<T> value WEFT_HERE) {
    return Update<T>::set_and(array + i, value WEFT_PASS);
}

}  // namespace weft

#endif
