// What becomes of messages: fields read and written, updates in place, parts of scalars.
#ifndef WEFT_UPDATES_CUH
#define WEFT_UPDATES_CUH

#include "control.cuh"
#include "features.cuh"
#include "memory.cuh"
#include "numbers.cuh"
#include "sweep.cuh"

namespace weft {

// The value of a field at a vertex (or arc), scalar or features; truth values are kept as bytes.
template <class T>
struct Field {
    template <class Stored>
    static WEFT_DEVICE T fetch(const Stored* array, i64 place) {
        return static_cast<T>(array[place]);
    }
    template <class Stored>
    static WEFT_DEVICE void put(Stored* array, i64 place, const T& value) {
        array[place] = static_cast<Stored>(value);
    }
    template <class Stored>
    static WEFT_DEVICE void leave(Stored* array, i64 place, const T& value) {
        store_relaxed(array + place, static_cast<Stored>(value));
    }
    static WEFT_DEVICE bool differs(const T& x, const T& y) { return weft::differs(x, y); }
};
template <class T, u32 rows, u32 columns, u32 lanes>
struct Field<Vec<T, rows, columns, lanes>> {
    using V = Vec<T, rows, columns, lanes>;
    template <class Stored>
    static WEFT_DEVICE V fetch(const Stored* array, i64 place) {
        return features<V>(array, place);
    }
    template <class Stored>
    static WEFT_DEVICE void put(Stored* array, i64 place, const V& value) {
        constexpr u32 count = V::template together<Stored>;
        V::template visit_packs<count>([&](u32 k, u32 at) {
            Pack<Stored, count> pack;
            for (u32 i = 0; i < count; ++i) pack.items[i] = Stored(value[k + i]);
            store_pack<count>(array + place * V::total + at, pack);
        });
    }
    template <class Stored>
    static WEFT_DEVICE void leave(Stored* array, i64 place, const V& value) {
        V::visit([&](u32 k, u32 at) {
            store_relaxed(array + place * V::total + at, Stored(value[k]));
        });
    }
    static WEFT_DEVICE bool differs(const V& x, const V& y) { return weft::differs(x, y); }
};

template <class T, class Stored>
WEFT_DEVICE T fetch(const Stored* array, i64 place) {
    return Field<T>::fetch(array, place);
}
// `Value<T>`: the type is named by the caller, so that a message is cast to that of the field.
template <class T, class Stored>
WEFT_DEVICE void put(Stored* array, i64 place, const Value<T>& value) {
    Field<T>::put(array, place, value);
}
// The same where others may read meanwhile.
template <class T, class Stored>
WEFT_DEVICE void leave(Stored* array, i64 place, const Value<T>& value) {
    Field<T>::leave(array, place, value);
}
template <class T>
WEFT_DEVICE bool changed(const Value<T>& x, const Value<T>& y) {
    return Field<T>::differs(x, y);
}

// Add features to those of a vertex, which others add to as well.
template <class V, class Stored>
WEFT_DEVICE void add_features(Stored* array, i64 place, const V& value) {
    if constexpr (sizeof(Stored) < 4) {
        V::visit([&](u32 k, u32 at) { at_add(array, place * V::total + at, value[k]); });
    } else {
        constexpr u32 count = V::template together<Stored>;
        V::template visit_packs<count>([&](u32 k, u32 at) {
            Pack<Stored, count> pack;
            for (u32 i = 0; i < count; ++i) pack.items[i] = value[k + i];
            add_pack(array + place * V::total + at, pack);
        });
    }
}

// Whether the vertex was not yet stamped in this sweep.
WEFT_DEVICE bool touch(u32* stamps, i64 v, u32 epoch WEFT_HERE) {
    return load_relaxed(stamps + v WEFT_PASS) != epoch &&
           atomic_exch(stamps + v, epoch WEFT_PASS) != epoch;
}

// Updates in place, each after a look whether it changes anything; true if it did. A number takes
// the place of a NaN.
template <class T>
WEFT_DEVICE bool is_less(T x, T old) {
    return x < old || (old != old && x == x);
}
template <class T>
WEFT_DEVICE bool is_more(T x, T old) {
    return x > old || (old != old && x == x);
}
template <class T>
WEFT_DEVICE bool improve_min(T* array, i64 place, Value<T> x) {
    return is_less(x, at_load(array, place)) && is_less(x, at_min(array, place, x));
}
template <class T>
WEFT_DEVICE bool improve_max(T* array, i64 place, Value<T> x) {
    return is_more(x, at_load(array, place)) && is_more(x, at_max(array, place, x));
}
template <class T>
WEFT_DEVICE bool improve_or(T* array, i64 place, Value<T> x) {
    if ((at_load(array, place) | x) == at_load(array, place)) return false;
    const T old = at_or(array, place, x);
    return (old | x) != old;
}
template <class T>
WEFT_DEVICE bool improve_and(T* array, i64 place, Value<T> x) {
    if ((at_load(array, place) & x) == at_load(array, place)) return false;
    const T old = at_and(array, place, x);
    return (old & x) != old;
}

// Key and payload of at most 32 bits each in one word, the key in the upper half.
template <class T>
WEFT_DEVICE u32 half_of(T x) {
    if constexpr (sizeof(T) == 4) return same_bits<u32>(x);
    else return static_cast<u32>(static_cast<i32>(x));
}
template <class T>
WEFT_DEVICE T of_half(u32 x) {
    if constexpr (sizeof(T) == 4) return same_bits<T>(x);
    else return static_cast<T>(static_cast<i32>(x));
}
template <class Key>
WEFT_DEVICE Key key_of(u64 pair) {
    return of_half<Key>(static_cast<u32>(pair >> 32));
}
template <class Key, class Payload>
WEFT_DEVICE u64 pair_of(Key key, Payload payload) {
    return static_cast<u64>(half_of(key)) << 32 | half_of(payload);
}
template <bool least_wins, class Key>
WEFT_DEVICE bool is_better(Key key, u64 seen) {
    return least_wins ? key < key_of<Key>(seen) : key > key_of<Key>(seen);
}
// Swap the pair in if its key is less (or more) than the one seen; true if that was done.
template <bool least_wins, class Key, class Payload>
WEFT_DEVICE bool swap_pair(u64* pairs, i64 v, Key key, Payload payload, u64 seen) {
    const u64 fresh = pair_of(key, payload);
    while (is_better<least_wins>(key, seen)) {
        const u64 before = atomic_cas(pairs + v, seen, fresh);
        if (before == seen) return true;
        seen = before;
    }
    return false;
}

// The same in two parts: a swap whose result is not awaited, and what follows once it is known.
template <bool least_wins, class Key, class Payload>
WEFT_DEVICE u64 try_pair(u64* pairs, i64 v, Key key, Payload payload, u64 seen) {
    if (!is_better<least_wins>(key, seen)) return ~seen;
    return atomic_cas(pairs + v, seen, pair_of(key, payload));
}
template <bool least_wins, class Key, class Payload>
WEFT_DEVICE bool settle_pair(u64* pairs, i64 v, Key key, Payload payload, u64 seen, u64 found) {
    if (found == seen) return true;
    return is_better<least_wins>(key, seen) && swap_pair<least_wins>(pairs, v, key, payload, found);
}

// Do something while no other thread does so for the same vertex.
template <class Work>
WEFT_DEVICE void with_lock(u32* locks, i64 v, Work work WEFT_HERE) {
    spin_wait(
        [&] {
            if (atomic_cas(locks + v, 0u, 1u WEFT_PASS) != 0u) return false;
            fence_device();
            work();
            fence_device();
            atomic_exch(locks + v, 0u WEFT_PASS);
            return true;
        } WEFT_PASS);
}

// Scalars travel as words of 64 bits.
template <class T>
WEFT_DEVICE u64 bits_of_scalar(T x) {
    if constexpr (sizeof(T) == 8) return same_bits<u64>(x);
    else if constexpr (sizeof(T) == 4) return same_bits<u32>(x);
    else return static_cast<u64>(static_cast<i64>(x));
}
template <class T>
WEFT_DEVICE T scalar_of(u64 bits) {
    if constexpr (sizeof(T) == 8) return same_bits<T>(bits);
    else if constexpr (sizeof(T) == 4) return same_bits<T>(static_cast<u32>(bits));
    else return static_cast<T>(static_cast<i64>(bits));
}

// Key and payload in a word each: the same. `seen` is the key's word as it was seen; the payload that
// goes with it may be another by now, then the swap fails and tells what is there.
template <bool least_wins, class Key, class Payload>
WEFT_DEVICE bool swap_wide_pair(TwoWords* pairs, u32* locks, i64 v, Key key, Payload payload,
                                u64 seen) {
    const auto improves = [=](u64 word) {
        const Key held = scalar_of<Key>(word);
        return least_wins ? key < held : key > held;
    };
    if (!improves(seen)) return false;
    const TwoWords fresh{bits_of_scalar(key), bits_of_scalar(payload)};
    if constexpr (has_wide_swap) {
        static_cast<void>(locks);
        TwoWords held{seen, load_relaxed(&pairs[v].second)};
        while (true) {
            const TwoWords before = atomic_cas(pairs + v, held, fresh);
            if (before.first == held.first && before.second == held.second) return true;
            if (!improves(before.first)) return false;
            held = before;
        }
    } else {
        bool won = false;
        with_lock(locks, v, [&] {
            won = improves(load_relaxed(&pairs[v].first));
            if (!won) return;
            store_relaxed(&pairs[v].first, fresh.first);
            store_relaxed(&pairs[v].second, fresh.second);
        });
        return won;
    }
}

template <class T, class Combine>
WEFT_DEVICE T combine_warp(T part, Combine combine) {
    for (u32 bit = warp_size / 2; bit > 0; bit /= 2) {
        part = combine(part, shuffle_any(full_mask, part, lane_id() ^ bit));
    }
    return part;
}

// The parts of a block's threads, in the first of them.
template <class T, class Combine>
WEFT_DEVICE T combine_block(T part, Combine combine) {
    WEFT_SHARED(u64, warps, warp_size);
    part = combine_warp(part, combine);
    if (block_size() == warp_size) return part;
    if (lane_id() == 0) warps[warp_id()] = bits_of_scalar(part);
    sync_block();
    if (thread_id() == 0) {
        for (u32 i = 1; i < block_size() / warp_size; ++i) {
            part = combine(part, scalar_of<T>(warps[i]));
        }
    }
    sync_block();
    return part;
}

struct AtomicAdd {
    template <class T>
    WEFT_DEVICE void operator()(T* word, T value) const {
        atomic_add(word, value);
    }
};
struct AtomicMin {
    template <class T>
    WEFT_DEVICE void operator()(T* word, T value) const {
        atomic_min(word, value);
    }
};
struct AtomicMax {
    template <class T>
    WEFT_DEVICE void operator()(T* word, T value) const {
        atomic_max(word, value);
    }
};

// One more part into a word, by any thread.
template <class T, class Combine>
WEFT_DEVICE void join_scalar(T part, Combine combine, u64* word) {
    u64 seen = load_relaxed(word);
    while (true) {
        const u64 fresh = bits_of_scalar(combine(scalar_of<T>(seen), part));
        if (fresh == seen) return;
        const u64 before = atomic_cas(word, seen, fresh);
        if (before == seen) return;
        seen = before;
    }
}

// The parts of all threads meet in one word: in the block first, then by one atomic each, or by
// compare-and-swap where there is none.
template <class T, class Combine, class Native>
WEFT_DEVICE void share_scalar(T part, Combine combine, u64* word, Native native) {
    part = combine_block(part, combine);
    if (thread_id() == 0) native(reinterpret_cast<T*>(word), part);
}
template <class T, class Combine>
WEFT_DEVICE void share_scalar(T part, Combine combine, u64* word) {
    part = combine_block(part, combine);
    if (thread_id() == 0) join_scalar(part, combine, word);
}

// The parts of a block's threads in a fixed order, left in the block's own word.
template <class T, class Combine>
WEFT_DEVICE void leave_scalar(T part, Combine combine, u64* word) {
    part = combine_block(part, combine);
    if (thread_id() == 0) *word = bits_of_scalar(part);
}

}  // namespace weft

#endif
