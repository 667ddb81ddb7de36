// Features of one vertex or arc as a value: vectors, and matrices row by row.
//
// Shapes are known when code is generated, so that functions of matrices take them as template
// arguments. Sums run from left to right and start from 0.
#ifndef WEFT_FEATURES_CUH
#define WEFT_FEATURES_CUH

#include "control.cuh"
#include "numbers.cuh"

namespace weft {

template <class T, u32 n>
struct Vec {
    using Element = T;
    static constexpr u32 size = n;
    T items[n];

    WEFT_DEVICE T& operator[](i64 k) { return items[k]; }
    WEFT_DEVICE const T& operator[](i64 k) const { return items[k]; }
};

// The features whose k-th is make(k).
template <class V, class Make>
WEFT_DEVICE V each(Make make) {
    V result;
    for (u32 k = 0; k < V::size; ++k) result.items[k] = make(k);
    return result;
}
template <class V>
WEFT_DEVICE V fill(typename V::Element value) {
    return each<V>([=](u32) { return value; });
}
template <class T, u32 n>
WEFT_DEVICE bool differs(const Vec<T, n>& a, const Vec<T, n>& b) {
    for (u32 k = 0; k < n; ++k) {
        if (differs(a[k], b[k])) return true;
    }
    return false;
}

// Features of a vertex or arc in an array of them; truth values are bytes there.
template <class V, class Stored>
WEFT_DEVICE V features(const Stored* array, i64 place) {
    return each<V>([=](u32 k) {
        return static_cast<typename V::Element>(array[place * V::size + k]);
    });
}
template <class V, class Stored>
WEFT_DEVICE V features_constant(const Stored* array, i64 place) {
    return each<V>([=](u32 k) {
        return static_cast<typename V::Element>(load_constant(array + place * V::size + k));
    });
}
template <class V, class Stored>
WEFT_DEVICE V features_relaxed(const Stored* array, i64 place WEFT_HERE) {
    return each<V>([=](u32 k) {
        return static_cast<typename V::Element>(
            load_relaxed(array + place * V::size + k WEFT_PASS));
    });
}
template <class T, u32 n, class Stored>
WEFT_DEVICE void put_features(Stored* array, i64 place, const Vec<T, n>& value) {
    for (u32 k = 0; k < n; ++k) array[place * n + k] = static_cast<Stored>(value[k]);
}

// Products.
template <u32 rows, u32 columns, class T>
WEFT_DEVICE Vec<T, rows * columns> outer(const Vec<T, rows>& a, const Vec<T, columns>& b) {
    return each<Vec<T, rows * columns>>([&](u32 k) { return mul(a[k / columns], b[k % columns]); });
}
template <class T, u32 n>
WEFT_DEVICE T dot(const Vec<T, n>& a, const Vec<T, n>& b) {
    T total = T(0);
    for (u32 k = 0; k < n; ++k) total = add(total, mul(a[k], b[k]));
    return total;
}
template <u32 rows, u32 inner, u32 columns, class T>
WEFT_DEVICE Vec<T, rows * columns> matmul(const Vec<T, rows * inner>& a,
                                          const Vec<T, inner * columns>& b) {
    return each<Vec<T, rows * columns>>([&](u32 place) {
        const u32 row = place / columns, column = place % columns;
        T total = T(0);
        for (u32 k = 0; k < inner; ++k) {
            total = add(total, mul(a[row * inner + k], b[k * columns + column]));
        }
        return total;
    });
}
template <u32 rows, u32 columns, class T>
WEFT_DEVICE Vec<T, rows> matvec(const Vec<T, rows * columns>& a, const Vec<T, columns>& x) {
    return matmul<rows, columns, 1>(a, x);
}
template <u32 rows, u32 columns, class T>
WEFT_DEVICE Vec<T, rows> matvec_max(const Vec<T, rows * columns>& a, const Vec<T, columns>& x,
                                    T start) {
    return each<Vec<T, rows>>([&](u32 row) {
        T best = start;
        for (u32 k = 0; k < columns; ++k) best = maximum(best, mul(a[row * columns + k], x[k]));
        return best;
    });
}
template <u32 rows, u32 columns, class T>
WEFT_DEVICE Vec<T, rows * columns> transpose(const Vec<T, rows * columns>& a) {
    return each<Vec<T, rows * columns>>([&](u32 k) { return a[k % rows * columns + k / rows]; });
}
template <u32 k, class T>
WEFT_DEVICE Vec<T, k * k> eye() {
    return each<Vec<T, k * k>>([](u32 place) { return T(place / k == place % k); });
}

// Without a branch: a compiler that merges branches would choose between addresses.
template <class T>
WEFT_DEVICE void exchange_if(bool wanted, T& a, T& b) {
    const T first = wanted ? b : a;
    b = wanted ? a : b;
    a = first;
}

// The solution of a x = b for each column of b, by Gauss-Jordan elimination with partial pivoting;
// zeros after a fault where the matrix has no inverse.
template <u32 n, u32 columns, class T>
WEFT_DEVICE Vec<T, n * columns> eliminate(Vec<T, n * n> a, Vec<T, n * columns> x, Fault* fault,
                                          u32 function, i64 vertex WEFT_HERE) {
    // Small matrices stay in registers: every loop is unrolled, every element named by a constant.
    [[maybe_unused]] constexpr u32 whole = n <= 6 ? n : 1;
    WEFT_UNROLL(whole)
    for (u32 column = 0; column < n; ++column) {
        u32 pivot = column;
        T best = absolute(a[column * n + column]);
        WEFT_UNROLL(whole)
        for (u32 i = column + 1; i < n; ++i) {
            const T size = absolute(a[i * n + column]);
            if (size > best || size != size) {
                best = size;
                pivot = i;
            }
        }
        if (!(best > 0)) {
            report(fault, SINGULAR, function, vertex WEFT_PASS);
            return fill<Vec<T, n * columns>>(T(0));
        }
        WEFT_UNROLL(whole)
        for (u32 i = column + 1; i < n; ++i) {
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < n; ++j) exchange_if(i == pivot, a[column * n + j], a[i * n + j]);
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < columns; ++j) {
                exchange_if(i == pivot, x[column * columns + j], x[i * columns + j]);
            }
        }
        const T diagonal = a[column * n + column];
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < columns; ++j) x[column * columns + j] /= diagonal;
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < n; ++j) a[column * n + j] /= diagonal;
        WEFT_UNROLL(whole)
        for (u32 i = 0; i < n; ++i) {
            if (i == column) continue;
            const T factor = a[i * n + column];
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < columns; ++j) {
                x[i * columns + j] = sub(x[i * columns + j], mul(factor, x[column * columns + j]));
            }
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < n; ++j) {
                a[i * n + j] = sub(a[i * n + j], mul(factor, a[column * n + j]));
            }
        }
    }
    return x;
}
template <u32 n, class T>
WEFT_DEVICE Vec<T, n> solve(const Vec<T, n * n>& a, const Vec<T, n>& b, Fault* fault, u32 function,
                            i64 vertex WEFT_HERE) {
    return eliminate<n, 1>(a, b, fault, function, vertex WEFT_PASS);
}
// The same for a symmetric positive definite matrix, of which the lower half is read: Cholesky's
// factor row by row; zeros after a fault where a pivot is not positive.
template <u32 n, class T>
WEFT_DEVICE Vec<T, n> solve_spd(Vec<T, n * n> a, Vec<T, n> x, Fault* fault, u32 function,
                                i64 vertex WEFT_HERE) {
    [[maybe_unused]] constexpr u32 whole = n <= 6 ? n : 1;
    WEFT_UNROLL(whole)
    for (u32 i = 0; i < n; ++i) {
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < i; ++j) {
            T total = a[i * n + j];
            WEFT_UNROLL(whole)
            for (u32 m = 0; m < j; ++m) total = sub(total, mul(a[i * n + m], a[j * n + m]));
            a[i * n + j] = total / a[j * n + j];
        }
        T pivot = a[i * n + i];
        T right = x[i];
        WEFT_UNROLL(whole)
        for (u32 m = 0; m < i; ++m) {
            pivot = sub(pivot, mul(a[i * n + m], a[i * n + m]));
            right = sub(right, mul(a[i * n + m], x[m]));
        }
        if (!(pivot > 0)) {
            report(fault, NOT_POSITIVE, function, vertex WEFT_PASS);
            return fill<Vec<T, n>>(T(0));
        }
        a[i * n + i] = real::sqrt(pivot);
        x[i] = right / a[i * n + i];
    }
    WEFT_UNROLL(whole)
    for (u32 step = 0; step < n; ++step) {
        const u32 i = n - 1 - step;
        x[i] /= a[i * n + i];
        WEFT_UNROLL(whole)
        for (u32 m = 0; m < i; ++m) x[m] = sub(x[m], mul(a[i * n + m], x[i]));
    }
    return x;
}
template <u32 n, class T>
WEFT_DEVICE Vec<T, n * n> inverse(const Vec<T, n * n>& a, Fault* fault, u32 function,
                                  i64 vertex WEFT_HERE) {
    return eliminate<n, n>(a, eye<n, T>(), fault, function, vertex WEFT_PASS);
}

// Reductions over features.
template <class T, u32 n, class Combine>
WEFT_DEVICE T fold(T total, const Vec<T, n>& x, Combine combine) {
    for (u32 k = 0; k < n; ++k) total = combine(total, x[k]);
    return total;
}
template <class T, u32 n>
WEFT_DEVICE T sum_features(const Vec<T, n>& x) {
    return fold(T(0), x, [](T a, T b) { return add(a, b); });
}
template <class T, u32 n>
WEFT_DEVICE T greatest_feature(const Vec<T, n>& x) {
    return fold(x[0], x, [](T a, T b) { return maximum(a, b); });
}
template <class T, u32 n>
WEFT_DEVICE i64 argmin_feature(const Vec<T, n>& x, T best) {
    i64 place = 0;
    for (u32 k = 0; k < n; ++k) {
        if (!(x[k] < best)) continue;
        best = x[k];
        place = k;
    }
    return place;
}
template <class T, u32 n>
WEFT_DEVICE i64 argmax_feature(const Vec<T, n>& x, T best) {
    i64 place = 0;
    for (u32 k = 0; k < n; ++k) {
        if (!(x[k] > best)) continue;
        best = x[k];
        place = k;
    }
    return place;
}

// Normalisation; a vector whose divisor is 0 stays as it is.
template <class T, u32 n>
WEFT_DEVICE Vec<T, n> divided(const Vec<T, n>& x, T divisor) {
    if (divisor == 0) return x;
    return each<Vec<T, n>>([&](u32 k) { return x[k] / divisor; });
}
template <class T, u32 n>
WEFT_DEVICE Vec<T, n> normalize_sum(const Vec<T, n>& x) {
    return divided(x, sum_features(x));
}
template <class T, u32 n>
WEFT_DEVICE Vec<T, n> normalize_l2(const Vec<T, n>& x) {
    return divided(x, real::sqrt(dot(x, x)));
}
template <class T, u32 n>
WEFT_DEVICE Vec<T, n> normalize_max(const Vec<T, n>& x) {
    return divided(x, greatest_feature(x));
}
template <class T, u32 n>
WEFT_DEVICE Vec<T, n> normalize_softmax(const Vec<T, n>& x) {
    const T top = greatest_feature(x);
    return normalize_sum(each<Vec<T, n>>([&](u32 k) { return real::exp(x[k] - top); }));
}

// Taking apart and putting together.
template <u32 columns, class T, u32 n>
WEFT_DEVICE Vec<T, columns> row_of(const Vec<T, n>& matrix, i64 row) {
    return each<Vec<T, columns>>([&](u32 k) { return matrix[row * columns + k]; });
}
template <class V, class T, u32 n>
WEFT_DEVICE void put_row(V& matrix, u32 row, const Vec<T, n>& value) {
    for (u32 k = 0; k < n; ++k) matrix[row * n + k] = value[k];
}
template <class V, class... Rows>
WEFT_DEVICE V stack_rows(const Rows&... rows) {
    V matrix;
    u32 row = 0;
    (put_row(matrix, row++, rows), ...);
    return matrix;
}

}  // namespace weft

#endif
