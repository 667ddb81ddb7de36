// Features of one vertex or arc as a value: a vector (one row) or a matrix, spread over a group.
//
// Consecutive lanes of a group have consecutive packs of columns, of one, two or four: of packs of
// one, lane i has the columns i, i + lanes, ... of every row, and keeps them row by row in registers.
// A single column is the same in all lanes. Of one lane (the feature-blind way) a value is simply an
// array. Positions beyond the last column hold anything; nothing is read or written there, and no
// reduction looks at them.
//
// A pack is loaded and stored as one, so features lie at a multiple of its size, up to 16 bytes.
//
// All lanes of a group call together. Scalar results are the same in all of them.
#ifndef WEFT_FEATURES_CUH
#define WEFT_FEATURES_CUH

#include "control.cuh"
#include "groups.cuh"
#include "numbers.cuh"

namespace weft {

// How many columns a lane has side by side: as many as an access can take, where all lanes have some.
// Who asked to be blind to features takes them one by one.
WEFT_DEVICE constexpr u32 packed(u32 columns, u32 lanes) {
#ifdef WEFT_FEATURE_BLIND
    if (lanes == 1) return 1;
#endif
    const u32 each = columns > 1 ? lanes : 1;
    return columns % 4 == 0 && columns > 2 * each ? 4 : columns % 2 == 0 && columns > each ? 2 : 1;
}

// An array that is copied as a whole. Large ones say how: the compiler would name every element, tens
// of thousands of times in a kernel that hands them on.
template <class T, u32 size, bool large = (unrolled(size) < size)>
struct Items {
    T held[size];
    WEFT_DEVICE T& operator[](i64 k) { return held[k]; }
    WEFT_DEVICE const T& operator[](i64 k) const { return held[k]; }
};
template <class T, u32 size>
struct Items<T, size, true> {
    T held[size];
    Items() = default;
    WEFT_DEVICE Items(const Items& other) { copy(other); }
    WEFT_DEVICE Items& operator=(const Items& other) {
        copy(other);
        return *this;
    }
    WEFT_DEVICE T& operator[](i64 k) { return held[k]; }
    WEFT_DEVICE const T& operator[](i64 k) const { return held[k]; }

 private:
    WEFT_DEVICE void copy(const Items& other) {
        WEFT_UNROLL(1)
        for (u32 k = 0; k < size; ++k) held[k] = other.held[k];
    }
};

template <class T, u32 num_rows, u32 num_columns, u32 num_lanes>
struct Vec {
    using Element = T;
    static constexpr u32 rows = num_rows, columns = num_columns, lanes = num_lanes;
    static constexpr bool spread = lanes > 1 && columns > 1;
    static constexpr u32 pack = packed(columns, lanes);
    static constexpr u32 turn = pack * lanes;  // columns until it is a lane's turn again
    static constexpr u32 width = spread ? (columns + turn - 1) / turn * pack : columns;  // of a lane
    static constexpr u32 size = rows * width;                                            // of a lane
    static constexpr u32 total = rows * columns;
    static constexpr bool ragged = spread && columns % turn != 0;
    Items<T, size> items;

    WEFT_DEVICE T& operator[](i64 k) { return items[k]; }
    WEFT_DEVICE const T& operator[](i64 k) const { return items[k]; }
    WEFT_DEVICE T& operator()(u32 row, u32 j) { return items[row * width + j]; }
    WEFT_DEVICE const T& operator()(u32 row, u32 j) const { return items[row * width + j]; }

    // The column that is the j-th of this lane (or another), and whether there is one.
    static WEFT_DEVICE u32 column_of(u32 j, u32 lane) {
        return spread ? j / pack * turn + lane * pack + j % pack : j;
    }
    static WEFT_DEVICE u32 column(u32 j) {
        if constexpr (spread) return column_of(j, Group<lanes>::lane());
        else return j;
    }
    static WEFT_DEVICE bool has(u32 j) {
        if constexpr (ragged) return j + pack < width || column(j) < columns;
        else return true;
    }
    // The lane that has a column, and which of its columns it is.
    static WEFT_DEVICE u32 lane_of(u32 column) { return spread ? column / pack % lanes : 0; }
    static WEFT_DEVICE u32 place_of(u32 column) {
        return spread ? column / turn * pack + column % pack : column;
    }
    // The place of this lane's k-th item among all features.
    static WEFT_DEVICE u32 offset(u32 k) { return k / width * columns + column(k % width); }

    // An element, for all lanes.
    WEFT_DEVICE T get(u32 row, u32 column WEFT_HERE) const {
        if constexpr (spread) {
            return from_lane<lanes>(items[row * width + place_of(column)],
                                    lane_of(column) WEFT_PASS);
        } else {
            return items[row * width + column];
        }
    }
    // The items that are this lane's to write, with their places.
    template <class Visit>
    static WEFT_DEVICE void visit(Visit visit) {
        if (!spread && !is_first<lanes>()) return;
        WEFT_UNROLL(unrolled(size))
        for (u32 k = 0; k < size; ++k) {
            if (has(k % width)) visit(k, offset(k));
        }
    }
    // How many elements of an array one access moves, and the first items of such stretches.
    template <class Stored>
    static constexpr u32 together = pack * sizeof(Stored) <= 16 ? pack : 16 / sizeof(Stored);
    template <u32 count, class Visit>
    static WEFT_DEVICE void visit_packs(Visit visit) {
        if (!spread && !is_first<lanes>()) return;
        WEFT_UNROLL(unrolled(size))
        for (u32 k = 0; k < size; k += count) {
            if (has(k % width)) visit(k, offset(k));
        }
    }
};

// The features whose k-th item of this lane is make(k).
template <class V, class Make>
WEFT_DEVICE V each(Make make) {
    V result;
    WEFT_UNROLL(unrolled(V::size))
    for (u32 k = 0; k < V::size; ++k) result.items[k] = make(k);
    return result;
}
template <class V>
WEFT_DEVICE V fill(typename V::Element value) {
    return each<V>([=](u32) { return value; });
}
template <class T, u32 rows, u32 columns, u32 lanes>
WEFT_DEVICE bool differs(const Vec<T, rows, columns, lanes>& a,
                         const Vec<T, rows, columns, lanes>& b WEFT_HERE) {
    using V = Vec<T, rows, columns, lanes>;
    bool found = false;
    WEFT_UNROLL(unrolled(V::size))
    for (u32 k = 0; k < V::size; ++k) found |= V::has(k % V::width) && differs(a[k], b[k]);
    if constexpr (V::spread) return any_lane<lanes>(found WEFT_PASS);
    else return found;
}

// All columns from the first on, or from the last: visit(column, its place in a lane, that lane). How
// far it is unrolled: over the places of a lane, as packs, so that each is known to the compiler, and
// over lanes.
template <class A, u32 turns, u32 lanes, bool backwards = false, class Visit>
WEFT_DEVICE void for_columns(Visit visit) {
    constexpr u32 packs = A::width / A::pack, sharing = A::spread ? A::lanes : 1;
    WEFT_UNROLL(turns)
    for (u32 i = 0; i < packs; ++i) {
        WEFT_UNROLL(lanes)
        for (u32 j = 0; j < sharing; ++j) {
            WEFT_UNROLL(A::pack)
            for (u32 k = 0; k < A::pack; ++k) {
                const u32 lane = backwards ? sharing - 1 - j : j;
                const u32 place = backwards ? A::width - 1 - (i * A::pack + k) : i * A::pack + k;
                const u32 column = A::column_of(place, lane);
                if (!A::ragged || column < A::columns) visit(column, place, lane);
            }
        }
    }
}

// Features of a vertex or arc in an array of them; truth values are bytes there.
template <class V, u32 count, class Load>
WEFT_DEVICE V read_features(i64 place, Load load) {
    using T = typename V::Element;
    V result;
    WEFT_UNROLL(unrolled(V::size))
    for (u32 k = 0; k < V::size; k += count) {
        if (V::has(k % V::width)) {
            const auto pack = load(place * V::total + V::offset(k));
            WEFT_UNROLL(count)
            for (u32 i = 0; i < count; ++i) result.items[k + i] = static_cast<T>(pack.items[i]);
        } else {
            WEFT_UNROLL(count)
            for (u32 i = 0; i < count; ++i) result.items[k + i] = T(0);
        }
    }
    return result;
}
template <class V, class Stored>
WEFT_DEVICE V features(const Stored* array, i64 place) {
    constexpr u32 count = V::template together<Stored>;
    return read_features<V, count>(place, [=](i64 at) { return load_pack<count>(array + at); });
}
template <class V, class Stored>
WEFT_DEVICE V features_constant(const Stored* array, i64 place) {
    constexpr u32 count = V::template together<Stored>;
    return read_features<V, count>(
        place, [=](i64 at) { return load_pack_constant<count>(array + at); });
}
template <class V, class Stored>
WEFT_DEVICE V features_relaxed(const Stored* array, i64 place WEFT_HERE) {
    return read_features<V, 1>(place, [=](i64 at) {
        return Pack<Stored, 1>{{load_relaxed(array + at WEFT_PASS)}};
    });
}

// Taking apart and putting together. A place in registers is chosen by comparing, not by an address.
template <class T, u32 columns, u32 lanes>
WEFT_DEVICE T feature_of(const Vec<T, 1, columns, lanes>& x, i64 place WEFT_HERE) {
    using V = Vec<T, 1, columns, lanes>;
    const u32 j = V::place_of(static_cast<u32>(place));
    T value = x[0];
    WEFT_UNROLL(unrolled(V::width))
    for (u32 k = 1; k < V::width; ++k) value = k == j ? x[k] : value;
    if constexpr (V::spread) {
        return from_lane<lanes>(value, V::lane_of(static_cast<u32>(place)) WEFT_PASS);
    } else {
        return value;
    }
}
template <class T, u32 rows, u32 columns, u32 lanes>
WEFT_DEVICE Vec<T, 1, columns, lanes> row_of(const Vec<T, rows, columns, lanes>& matrix, i64 row) {
    constexpr u32 size = Vec<T, rows, columns, lanes>::size;
    return each<Vec<T, 1, columns, lanes>>([&](u32 j) {
        if constexpr (unrolled(size) < size) return matrix(static_cast<u32>(row), j);
        T value = matrix(0, j);
        WEFT_UNROLL(unrolled(rows))
        for (u32 i = 1; i < rows; ++i) value = i == row ? matrix(i, j) : value;
        return value;
    });
}
// The vector of features that all lanes have.
template <class V, u32 n>
WEFT_DEVICE V of_all(const typename V::Element (&all)[n]) {
    return each<V>([&](u32 j) {
        if constexpr (V::lanes == 1) return all[j];
        typename V::Element value = all[0];
        WEFT_UNROLL(unrolled(n))
        for (u32 i = 1; i < n; ++i) value = i == V::column(j) ? all[i] : value;
        return value;
    });
}
template <class V, class... Scalars>
WEFT_DEVICE V stack(const Scalars&... scalars) {
    const typename V::Element all[] = {static_cast<typename V::Element>(scalars)...};
    return of_all<V>(all);
}
// The positions of all features, the features at computed positions, and a vector with others there.
template <class V>
WEFT_DEVICE V iota() {
    return each<V>([](u32 j) { return static_cast<typename V::Element>(V::column(j)); });
}
template <class T, u32 n, u32 k, u32 lanes>
WEFT_DEVICE Vec<T, 1, k, lanes> take_features(const Vec<T, 1, n, lanes>& x,
                                              const Vec<i64, 1, k, lanes>& places, Fault* fault,
                                              u32 function, i64 vertex WEFT_HERE) {
    using X = Vec<T, 1, n, lanes>;
    using Y = Vec<T, 1, k, lanes>;
    return each<Y>([&](u32 j) {
        const u32 place = static_cast<u32>(
            Y::has(j) ? checked(places[j], n, fault, function, vertex WEFT_PASS) : 0);
        T value = x[0];
        WEFT_UNROLL(unrolled(X::width))
        for (u32 q = 0; q < X::width; ++q) {
            if constexpr (X::spread) {
                const T held = from_lane<lanes>(x[q], X::lane_of(place) WEFT_PASS);
                value = q == X::place_of(place) ? held : value;
            } else {
                value = q == place ? x[q] : value;
            }
        }
        return value;
    });
}
template <class T, u32 n, u32 k, u32 lanes>
WEFT_DEVICE Vec<T, 1, n, lanes> scatter_features(Vec<T, 1, n, lanes> x,
                                                 const Vec<i64, 1, k, lanes>& places,
                                                 const Vec<T, 1, k, lanes>& values, Fault* fault,
                                                 u32 function, i64 vertex WEFT_HERE) {
    using X = Vec<T, 1, n, lanes>;
    WEFT_UNROLL(unrolled(k))
    for (u32 i = 0; i < k; ++i) {
        const i64 place =
            checked(places.get(0, i WEFT_PASS), n, fault, function, vertex WEFT_PASS);
        const T value = values.get(0, i WEFT_PASS);
        WEFT_UNROLL(unrolled(X::width))
        for (u32 j = 0; j < X::width; ++j) x[j] = X::column(j) == place ? value : x[j];
    }
    return x;
}
template <class V, class... Rows>
WEFT_DEVICE V stack_rows(const Rows&... rows) {
    V result;
    u32 row = 0;
    const auto put = [&](const auto& value) {
        WEFT_UNROLL(unrolled(V::width))
        for (u32 j = 0; j < V::width; ++j) result(row, j) = value[j];
        ++row;
    };
    (put(rows), ...);
    return result;
}

// Products.
template <class T, u32 rows, u32 columns, u32 lanes>
WEFT_DEVICE Vec<T, rows, columns, lanes> outer(const Vec<T, 1, rows, lanes>& a,
                                               const Vec<T, 1, columns, lanes>& b WEFT_HERE) {
    Vec<T, rows, columns, lanes> result;
    WEFT_UNROLL(unrolled(result.size))
    for (u32 i = 0; i < rows; ++i) {
        const T factor = a.get(0, i WEFT_PASS);
        WEFT_UNROLL(unrolled(result.size))
        for (u32 j = 0; j < result.width; ++j) result(i, j) = mul(factor, b[j]);
    }
    return result;
}
template <class T, u32 rows, u32 inner, u32 columns, u32 lanes>
WEFT_DEVICE Vec<T, rows, columns, lanes> matmul(const Vec<T, rows, inner, lanes>& a,
                                                const Vec<T, inner, columns, lanes>& b WEFT_HERE) {
    Vec<T, rows, columns, lanes> result = fill<Vec<T, rows, columns, lanes>>(T(0));
    constexpr u32 of_a = Vec<T, rows, inner, lanes>::size, of_b = Vec<T, inner, columns, lanes>::size;
    constexpr u32 most = of_a > of_b ? of_a : of_b;
    constexpr u32 whole = unrolled(most > result.size ? most : result.size);
    WEFT_UNROLL(whole)
    for (u32 i = 0; i < rows; ++i) {
        WEFT_UNROLL(whole)
        for (u32 k = 0; k < inner; ++k) {
            const T factor = a.get(i, k WEFT_PASS);
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < result.width; ++j) {
                result(i, j) = add(result(i, j), mul(factor, b(k, j)));
            }
        }
    }
    return result;
}
// Products of a matrix and a vector whose terms are combined from `start`, an identity, on: of a row
// vector and the columns of the matrix, and of the rows of the matrix and a column vector.
template <class T, u32 rows, u32 columns, u32 lanes, class Combine>
WEFT_DEVICE Vec<T, 1, columns, lanes> by_columns(const Vec<T, 1, rows, lanes>& x,
                                                 const Vec<T, rows, columns, lanes>& a, T start,
                                                 Combine combine WEFT_HERE) {
    Vec<T, 1, columns, lanes> result = fill<Vec<T, 1, columns, lanes>>(start);
    constexpr u32 whole = unrolled(Vec<T, rows, columns, lanes>::size);
    WEFT_UNROLL(whole)
    for (u32 i = 0; i < rows; ++i) {
        const T factor = x.get(0, i WEFT_PASS);
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < result.width; ++j) result[j] = combine(result[j], mul(factor, a(i, j)));
    }
    return result;
}
template <class T, u32 rows, u32 columns, u32 lanes, class Combine>
WEFT_DEVICE Vec<T, 1, rows, lanes> by_rows(const Vec<T, rows, columns, lanes>& a,
                                           const Vec<T, 1, columns, lanes>& x, T start,
                                           Combine combine WEFT_HERE) {
    using A = Vec<T, rows, columns, lanes>;
    using Y = Vec<T, 1, rows, lanes>;
    const auto part = [&](u32 row) {
        T total = start;
        WEFT_UNROLL(unrolled(A::size))
        for (u32 j = 0; j < A::width; ++j) {
            if (A::has(j)) total = combine(total, mul(a(row, j), x[j]));
        }
        return total;
    };
    if constexpr (!A::spread) {
        T parts[rows];
        WEFT_UNROLL(unrolled(A::size))
        for (u32 i = 0; i < rows; ++i) parts[i] = part(i);
        return of_all<Y>(parts);
    } else if constexpr (!Y::spread) {
        return each<Y>([&](u32 j) { return combine_lanes<lanes>(part(j), combine WEFT_PASS); });
    } else {
        return each<Y>([&](u32 j) {
            T parts[lanes];
            WEFT_UNROLL(32)
            for (u32 i = 0; i < lanes; ++i) {
                const u32 row = Y::column_of(j, i);
                parts[i] = row < rows ? part(row) : start;
            }
            return scatter_combined<lanes>(parts, combine WEFT_PASS);
        });
    }
}
template <class V, class W>
WEFT_DEVICE auto vecmat(const V& x, const W& a WEFT_HERE) {
    using T = typename V::Element;
    return by_columns(x, a, T(0), [](T p, T q) { return add(p, q); } WEFT_PASS);
}
template <class V, class W>
WEFT_DEVICE auto matvec(const V& a, const W& x WEFT_HERE) {
    using T = typename V::Element;
    return by_rows(a, x, T(0), [](T p, T q) { return add(p, q); } WEFT_PASS);
}
template <class V, class W, class T>
WEFT_DEVICE auto vecmat_max(const V& x, const W& a, T start WEFT_HERE) {
    return by_columns(x, a, start, [](T p, T q) { return maximum(p, q); } WEFT_PASS);
}
template <class V, class W, class T>
WEFT_DEVICE auto matvec_max(const V& a, const W& x, T start WEFT_HERE) {
    return by_rows(a, x, start, [](T p, T q) { return maximum(p, q); } WEFT_PASS);
}
template <class T, u32 rows, u32 columns, u32 lanes>
WEFT_DEVICE Vec<T, columns, rows, lanes> transpose(
    const Vec<T, rows, columns, lanes>& a WEFT_HERE) {
    using A = Vec<T, rows, columns, lanes>;
    using B = Vec<T, columns, rows, lanes>;
    B result;
    if constexpr (lanes == 1) {
        return each<B>([&](u32 k) { return a(k % B::width, k / B::width); });
    } else if constexpr (!A::spread) {
        return each<B>([&](u32 k) {
            return row_of(a, B::column(k % B::width))[k / B::width];
        });
    } else if constexpr (!B::spread) {
        return each<B>([&](u32 k) { return a.get(0, k WEFT_PASS); });
    } else {
        for (u32 p = 0; p < B::width; ++p) {
            for (u32 q = 0; q < A::width; ++q) {
                T square[lanes];
                WEFT_UNROLL(32)
                for (u32 i = 0; i < lanes; ++i) {
                    const u32 row = B::column_of(p, i);
                    square[i] = row < rows ? a(row, q) : T(0);
                }
                transpose_square<lanes>(square WEFT_PASS);
                WEFT_UNROLL(32)
                for (u32 i = 0; i < lanes; ++i) {
                    const u32 row = A::column_of(q, i);
                    if (row < columns) result(row, p) = square[i];
                }
            }
        }
        return result;
    }
}
template <class V>
WEFT_DEVICE V eye() {
    return each<V>(
        [](u32 k) { return typename V::Element(k / V::width == V::column(k % V::width)); });
}

// Reductions over features, in order within a lane; `start` is an identity.
template <class T, u32 rows, u32 columns, u32 lanes, class Combine>
WEFT_DEVICE T fold(T start, const Vec<T, rows, columns, lanes>& x, Combine combine WEFT_HERE) {
    using V = Vec<T, rows, columns, lanes>;
    T total = start;
    WEFT_UNROLL(unrolled(V::size))
    for (u32 k = 0; k < V::size; ++k) {
        if (V::has(k % V::width)) total = combine(total, x[k]);
    }
    if constexpr (V::spread) return combine_lanes<lanes>(total, combine WEFT_PASS);
    else return total;
}
template <class T, u32 rows, u32 columns, u32 lanes>
WEFT_DEVICE T sum_features(const Vec<T, rows, columns, lanes>& x WEFT_HERE) {
    return fold(T(0), x, [](T a, T b) { return add(a, b); } WEFT_PASS);
}
template <class T, u32 rows, u32 columns, u32 lanes>
WEFT_DEVICE T greatest_feature(const Vec<T, rows, columns, lanes>& x WEFT_HERE) {
    const T start = x.get(0, 0 WEFT_PASS);
    return fold(start, x, [](T a, T b) { return maximum(a, b); } WEFT_PASS);
}
template <class T, u32 columns, u32 lanes>
WEFT_DEVICE T dot(const Vec<T, 1, columns, lanes>& a,
                  const Vec<T, 1, columns, lanes>& b WEFT_HERE) {
    using V = Vec<T, 1, columns, lanes>;
    return sum_features(each<V>([&](u32 k) { return mul(a[k], b[k]); }) WEFT_PASS);
}

// The place of the first feature that is better than all before it, or 0 if none is better than
// `start`; a NaN is no better.
template <class T>
struct Ranked {
    T value;
    i64 place;
};
template <class V, class T, class Better>
WEFT_DEVICE i64 best_feature(const V& x, T start, Better better WEFT_HERE) {
    Ranked<T> best = {start, V::total};
    for (u32 k = 0; k < V::size; ++k) {
        if (V::has(k % V::width) && better(x[k], best.value)) best = {x[k], i64(V::offset(k))};
    }
    if constexpr (V::spread) {
        best = combine_lanes<V::lanes>(best, [&](const Ranked<T>& a, const Ranked<T>& b) {
            const bool first = better(a.value, b.value) ||
                               (!better(b.value, a.value) && a.place < b.place);
            return first ? a : b;
        } WEFT_PASS);
    }
    return best.place == V::total ? 0 : best.place;
}
template <class V, class T>
WEFT_DEVICE i64 argmin_feature(const V& x, T start WEFT_HERE) {
    return best_feature(x, start, [](T a, T b) { return a < b; } WEFT_PASS);
}
template <class V, class T>
WEFT_DEVICE i64 argmax_feature(const V& x, T start WEFT_HERE) {
    return best_feature(x, start, [](T a, T b) { return a > b; } WEFT_PASS);
}

// Normalisation; a vector whose divisor is 0 stays as it is.
template <class V, class T>
WEFT_DEVICE V divided(const V& x, T divisor) {
    if (divisor == 0) return x;
    return each<V>([&](u32 k) { return x[k] / divisor; });
}
template <class V>
WEFT_DEVICE V normalize_sum(const V& x WEFT_HERE) {
    return divided(x, sum_features(x WEFT_PASS));
}
template <class V>
WEFT_DEVICE V normalize_l2(const V& x WEFT_HERE) {
    return divided(x, real::sqrt(dot(x, x WEFT_PASS)));
}
template <class V>
WEFT_DEVICE V normalize_max(const V& x WEFT_HERE) {
    return divided(x, greatest_feature(x WEFT_PASS));
}
template <class V>
WEFT_DEVICE V normalize_softmax(const V& x WEFT_HERE) {
    const typename V::Element top = greatest_feature(x WEFT_PASS);
    return normalize_sum(each<V>([&](u32 k) { return real::exp(x[k] - top); }) WEFT_PASS);
}

}  // namespace weft

#endif
