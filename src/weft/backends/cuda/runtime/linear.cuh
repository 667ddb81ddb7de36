// Systems of linear equations of one vertex or arc, by all lanes of its group.
//
// A lane has some columns of the matrix (features.cuh). In each round the column that is
// eliminated goes from the lane that has it to all, as the factors of the rows. Rows then move up by
// one, so that the row of the next column is the first again: every place in registers is known to
// the compiler, though the rounds are a loop.
#ifndef WEFT_LINEAR_CUH
#define WEFT_LINEAR_CUH

#include "features.cuh"

namespace weft {

// How far the loops of a system are unrolled. Small ones are unrolled in all, since what is done
// with is left out then. Of larger ones, rows are told apart by constants where they fit into
// registers, columns are not.
template <class A>
struct Rounds {
    static constexpr bool small = A::rows <= (A::spread ? 8 : 6);
    static constexpr bool held = small || (A::spread && unrolled(A::size) == A::size);
    static constexpr u32 rows = held ? A::rows : 1, turns = held ? A::width / A::pack : 1;
    static constexpr u32 lanes = small ? A::lanes : 1;
};

// Without a branch: a compiler that merges branches would choose between addresses.
template <class T>
WEFT_DEVICE void exchange_if(bool wanted, T& a, T& b) {
    const T first = wanted ? b : a;
    b = wanted ? a : b;
    a = first;
}

// The solution of a x = b for each column of b, by Gauss-Jordan elimination with partial pivoting;
// zeros after a fault where the matrix has no inverse. Rows that are done with follow those that are
// not, so that all are in their places in the end.
template <class T, u32 n, u32 columns, u32 lanes>
WEFT_DEVICE Vec<T, n, columns, lanes> eliminate(Vec<T, n, n, lanes> a, Vec<T, n, columns, lanes> x,
                                                Fault* fault, u32 function,
                                                i64 vertex WEFT_HERE) {
    using A = Vec<T, n, n, lanes>;
    using X = Vec<T, n, columns, lanes>;
    [[maybe_unused]] constexpr u32 whole = Rounds<A>::rows;
    bool failed = false;
    for_columns<A, Rounds<A>::turns, Rounds<A>::lanes>([&](u32 column, u32 place, u32 lane) {
        u32 pivot = 0;  // of the lane's own column
        T best = absolute(a(0, place));
        WEFT_UNROLL(whole)
        for (u32 i = 1; i < n; ++i) {
            const T size = absolute(a(i, place));
            const bool better = i < n - column && (size > best || size != size);
            best = better ? size : best;
            pivot = better ? i : pivot;
        }
        pivot = from_lane<lanes>(pivot, lane WEFT_PASS);
        WEFT_UNROLL(whole)
        for (u32 i = 1; i < n; ++i) {
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < A::width; ++j) exchange_if(i == pivot, a(0, j), a(i, j));
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < X::width; ++j) exchange_if(i == pivot, x(0, j), x(i, j));
        }
        const T diagonal = from_lane<lanes>(a(0, place), lane WEFT_PASS);
        failed |= !(absolute(diagonal) > 0);
        T top[A::width], right[X::width];
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < A::width; ++j) top[j] = a(0, j) / diagonal;
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < X::width; ++j) right[j] = x(0, j) / diagonal;
        WEFT_UNROLL(whole)
        for (u32 i = 1; i < n; ++i) {
            const T factor = from_lane<lanes>(a(i, place), lane WEFT_PASS);
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < A::width; ++j) a(i - 1, j) = sub(a(i, j), mul(factor, top[j]));
            WEFT_UNROLL(whole)
            for (u32 j = 0; j < X::width; ++j) x(i - 1, j) = sub(x(i, j), mul(factor, right[j]));
        }
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < A::width; ++j) a(n - 1, j) = top[j];
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < X::width; ++j) x(n - 1, j) = right[j];
    });
    if (!failed) return x;
    report(fault, SINGULAR, function, vertex WEFT_PASS);
    return fill<X>(T(0));
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

// The same for a symmetric positive definite matrix: a = L D Lᵀ; zeros after a fault where a pivot is
// not positive. What has left the matrix, a row of L D at a time, is kept elsewhere, and rows that
// are done with are left out in blocks of some.
template <class T, u32 n, u32 lanes>
WEFT_DEVICE Vec<T, 1, n, lanes> solve_spd(Vec<T, n, n, lanes> a, Vec<T, 1, n, lanes> x,
                                          Fault* fault, u32 function, i64 vertex WEFT_HERE) {
    using A = Vec<T, n, n, lanes>;
    [[maybe_unused]] constexpr u32 whole = Rounds<A>::rows;
    constexpr u32 block = Rounds<A>::small ? 1 : 8;
    A lower;
    T inverses[A::width] = {};  // of the pivots of this lane's columns
    bool failed = false;
    for_columns<A, Rounds<A>::turns, Rounds<A>::lanes>([&](u32 column, u32 place, u32 lane) {
        const T pivot = from_lane<lanes>(a(0, place), lane WEFT_PASS);
        failed |= !(pivot > 0);
        const T inverse = T(1) / pivot;
        const T solved = from_lane<lanes>(x[place], lane WEFT_PASS);
        T factors[A::width];  // of the rows that have the numbers of this lane's columns
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < A::width; ++j) {
            lower(column, j) = a(0, j);
            inverses[j] = A::column(j) == column ? inverse : inverses[j];
            factors[j] = A::column(j) > column ? mul(a(0, j), inverse) : T(0);
            x[j] = real::fma(-factors[j], solved, x[j]);
        }
        WEFT_UNROLL(whole)
        for (u32 first = 1; first < n; first += block) {
            if (first >= n - column) continue;
            WEFT_UNROLL(block)
            for (u32 i = first; i < first + block; ++i) {
                if (i >= n) continue;
                const T below = from_lane<lanes>(a(i, place), lane WEFT_PASS);
                WEFT_UNROLL(whole)
                for (u32 j = 0; j < A::width; ++j) {
                    a(i - 1, j) = real::fma(-below, factors[j], a(i, j));
                }
            }
        }
    });
    for_columns<A, Rounds<A>::turns, Rounds<A>::lanes, true>([&](u32 column, u32 place, u32 lane) {
        const T solved = from_lane<lanes>(mul(x[place], inverses[place]), lane WEFT_PASS);
        WEFT_UNROLL(whole)
        for (u32 j = 0; j < A::width; ++j) {
            const T less = real::fma(-lower(column, j), solved, x[j]);
            x[j] = A::column(j) == column ? solved : A::column(j) < column ? less : x[j];
        }
    });
    if (!failed) return x;
    report(fault, NOT_POSITIVE, function, vertex WEFT_PASS);
    return fill<Vec<T, 1, n, lanes>>(T(0));
}

}  // namespace weft

#endif
