// Systems of linear equations of one vertex or arc, by all lanes of its group.
//
// A lane has some columns of the matrix (features.cuh). In each round the column that is
// eliminated goes from the lane that has it to all, as the factors of the rows.
#ifndef WEFT_LINEAR_CUH
#define WEFT_LINEAR_CUH

#include "features.cuh"

namespace weft {

// How far the loops over the rows of a system are unrolled: small ones stay in registers, every
// element named by a constant.
template <u32 n, u32 lanes>
constexpr u32 rounds = n <= (lanes > 1 ? 16 : 6) ? n : 1;

// Without a branch: a compiler that merges branches would choose between addresses.
template <class T>
WEFT_DEVICE void exchange_if(bool wanted, T& a, T& b) {
    const T first = wanted ? b : a;
    b = wanted ? a : b;
    a = first;
}

// The solution of a x = b for each column of b, by Gauss-Jordan elimination with partial pivoting;
// zeros after a fault where the matrix has no inverse.
template <class T, u32 n, u32 columns, u32 lanes>
WEFT_DEVICE Vec<T, n, columns, lanes> eliminate(Vec<T, n, n, lanes> a, Vec<T, n, columns, lanes> x,
                                                Fault* fault, u32 function,
                                                i64 vertex WEFT_HERE) {
    using A = Vec<T, n, n, lanes>;
    using X = Vec<T, n, columns, lanes>;
    [[maybe_unused]] constexpr u32 whole = rounds<n, lanes>;
    WEFT_UNROLL(whole)
    for (u32 column = 0; column < n; ++column) {
        T factors[n];
        WEFT_UNROLL(whole)
        for (u32 i = 0; i < n; ++i) factors[i] = a.get(i, column WEFT_PASS);
        u32 pivot = column;
        T best = absolute(factors[column]);
        WEFT_UNROLL(whole)
        for (u32 i = column + 1; i < n; ++i) {
            const T size = absolute(factors[i]);
            if (size > best || size != size) {
                best = size;
                pivot = i;
            }
        }
        if (!(best > 0)) {
            report(fault, SINGULAR, function, vertex WEFT_PASS);
            return fill<X>(T(0));
        }
        WEFT_UNROLL(whole)
        for (u32 i = column + 1; i < n; ++i) {
            exchange_if(i == pivot, factors[column], factors[i]);
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < A::width; ++j) exchange_if(i == pivot, a(column, j), a(i, j));
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < X::width; ++j) exchange_if(i == pivot, x(column, j), x(i, j));
        }
        const T diagonal = factors[column];
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < X::width; ++j) x(column, j) /= diagonal;
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < A::width; ++j) a(column, j) /= diagonal;
        WEFT_UNROLL(whole)
        for (u32 i = 0; i < n; ++i) {
            if (i == column) continue;
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < X::width; ++j) {
                x(i, j) = sub(x(i, j), mul(factors[i], x(column, j)));
            }
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < A::width; ++j) {
                a(i, j) = sub(a(i, j), mul(factors[i], a(column, j)));
            }
        }
    }
    return x;
}
template <class T, u32 n, u32 lanes>
WEFT_DEVICE Vec<T, 1, n, lanes> solve(const Vec<T, n, n, lanes>& a, const Vec<T, 1, n, lanes>& b,
                                      Fault* fault, u32 function, i64 vertex WEFT_HERE) {
    return transpose(
        eliminate(a, transpose(b WEFT_PASS), fault, function, vertex WEFT_PASS) WEFT_PASS);
}
template <class T, u32 n, u32 lanes>
WEFT_DEVICE Vec<T, n, n, lanes> inverse(const Vec<T, n, n, lanes>& a, Fault* fault, u32 function,
                                        i64 vertex WEFT_HERE) {
    return eliminate(a, eye<Vec<T, n, n, lanes>>(), fault, function, vertex WEFT_PASS);
}

// The j-th column of a lane at a row that is not known when it is compiled: chosen by comparing, so
// that the matrix stays in registers.
template <class T, u32 n, u32 lanes>
WEFT_DEVICE T at_row(const Vec<T, n, n, lanes>& a, u32 row, u32 j) {
    T value = a(0, j);
    WEFT_UNROLL(n)
    for (u32 i = 1; i < n; ++i) value = i == row ? a(i, j) : value;
    return value;
}
// An element of a row, at a column that is not known when it is compiled.
template <class T, u32 n, u32 lanes>
WEFT_DEVICE T at_column(const Vec<T, n, n, lanes>& a, u32 i, u32 column WEFT_HERE) {
    using A = Vec<T, n, n, lanes>;
    T value = a(i, 0);
    WEFT_UNROLL(A::width)
    for (u32 j = 1; j < A::width; ++j) value = j == A::place_of(column) ? a(i, j) : value;
    return from_lane<lanes>(value, A::lane_of(column) WEFT_PASS);
}

// The solution for a symmetric positive definite matrix as below, for large ones: the loop over
// columns is one, the loops over rows are unrolled.
template <class T, u32 n, u32 lanes>
WEFT_DEVICE Vec<T, 1, n, lanes> solve_spd_by_rows(Vec<T, n, n, lanes> a, Vec<T, 1, n, lanes> x,
                                                  Fault* fault, u32 function,
                                                  i64 vertex WEFT_HERE) {
    using A = Vec<T, n, n, lanes>;
    WEFT_UNROLL(1)
    for (u32 column = 0; column < n; ++column) {
        T mine = at_row(a, column, 0);
        WEFT_UNROLL(A::width)
        for (u32 j = 1; j < A::width; ++j) {
            mine = j == A::place_of(column) ? at_row(a, column, j) : mine;
        }
        const T pivot = from_lane<lanes>(mine, A::lane_of(column) WEFT_PASS);
        if (!(pivot > 0)) {
            report(fault, NOT_POSITIVE, function, vertex WEFT_PASS);
            return fill<Vec<T, 1, n, lanes>>(T(0));
        }
        const T root = real::sqrt(pivot);
        const T scale = T(1) / root;
        T own[A::width];
        WEFT_UNROLL(A::width)
        for (u32 j = 0; j < A::width; ++j) own[j] = T(0);
        WEFT_UNROLL(n)
        for (u32 i = 0; i < n; ++i) {
            const T below = at_column(a, i, column WEFT_PASS);
            const T factor = i == column ? root : mul(below, scale);
            WEFT_UNROLL(A::width)
            for (u32 j = 0; j < A::width; ++j) {
                const u32 at = A::column(j);
                own[j] = at == i ? factor : own[j];
                const T less = sub(a(i, j), mul(factor, own[j]));
                const T kept = at > column && at <= i ? less : a(i, j);
                a(i, j) = at == column && i >= column ? factor : kept;
            }
        }
        const T solved = mul(feature_of(x, column WEFT_PASS), scale);
        WEFT_UNROLL(A::width)
        for (u32 j = 0; j < A::width; ++j) {
            const T less = sub(x[j], mul(own[j], solved));
            x[j] = A::column(j) == column ? solved : A::column(j) > column ? less : x[j];
        }
    }
    WEFT_UNROLL(1)
    for (u32 step = 0; step < n; ++step) {
        const u32 i = n - 1 - step;
        T row[A::width];
        WEFT_UNROLL(A::width)
        for (u32 j = 0; j < A::width; ++j) row[j] = at_row(a, i, j);
        T diagonal = row[0];
        WEFT_UNROLL(A::width)
        for (u32 j = 1; j < A::width; ++j) diagonal = j == A::place_of(i) ? row[j] : diagonal;
        diagonal = from_lane<lanes>(diagonal, A::lane_of(i) WEFT_PASS);
        const T solved = feature_of(x, i WEFT_PASS) / diagonal;
        WEFT_UNROLL(A::width)
        for (u32 j = 0; j < A::width; ++j) {
            const T less = sub(x[j], mul(row[j], solved));
            x[j] = A::column(j) == i ? solved : A::column(j) < i ? less : x[j];
        }
    }
    return x;
}

// The same for a symmetric positive definite matrix, of which the lower half is read: Cholesky's
// factor column by column; zeros after a fault where a pivot is not positive.
template <class T, u32 n, u32 lanes>
WEFT_DEVICE Vec<T, 1, n, lanes> solve_spd(Vec<T, n, n, lanes> a, Vec<T, 1, n, lanes> x,
                                          Fault* fault, u32 function, i64 vertex WEFT_HERE) {
    using A = Vec<T, n, n, lanes>;
    [[maybe_unused]] constexpr u32 whole = rounds<n, lanes>;
    if constexpr (whole != n && n <= 64 && A::width <= 2) {
        return solve_spd_by_rows(a, x, fault, function, vertex WEFT_PASS);
    }
    WEFT_UNROLL(whole)
    for (u32 column = 0; column < n; ++column) {
        const T pivot = a.get(column, column WEFT_PASS);
        if (!(pivot > 0)) {
            report(fault, NOT_POSITIVE, function, vertex WEFT_PASS);
            return fill<Vec<T, 1, n, lanes>>(T(0));
        }
        const T root = real::sqrt(pivot);
        const T scale = T(1) / root;  // one division for the whole column
        const T solved = x.get(0, column WEFT_PASS) * scale;
        T own[A::width];  // the factors of the rows that have the numbers of this lane's columns
        WEFT_UNROLL(whole)
        for (u32 i = column; i < n; ++i) {
            const T factor = i == column ? root : mul(a.get(i, column WEFT_PASS), scale);
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < A::width; ++j) {
                if (A::column(j) == i) own[j] = factor;
                if (A::column(j) == column) a(i, j) = factor;
                // own[j] is known by now wherever the lower half is.
                else if (A::column(j) > column && A::column(j) <= i) {
                    a(i, j) = sub(a(i, j), mul(factor, own[j]));
                }
            }
        }
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < A::width; ++j) {
            if (A::column(j) == column) x[j] = solved;
            else if (A::column(j) > column && A::has(j)) x[j] = sub(x[j], mul(own[j], solved));
        }
    }
    WEFT_UNROLL(whole)
    for (u32 step = 0; step < n; ++step) {
        const u32 i = n - 1 - step;
        const T solved = x.get(0, i WEFT_PASS) / a.get(i, i WEFT_PASS);
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < A::width; ++j) {
            if (A::column(j) == i) x[j] = solved;
            else if (A::column(j) < i) x[j] = sub(x[j], mul(a(i, j), solved));
        }
    }
    return x;
}

}  // namespace weft

#endif
