// Products of vectors and a matrix that all items share, and that stays in memory.
//
// A row of it is read where it is needed, once for all vectors that are multiplied together: what
// limits such products is how fast the nearest cache fills registers.
#ifndef WEFT_PRODUCTS_CUH
#define WEFT_PRODUCTS_CUH

#include "features.cuh"

namespace weft {

// How products are combined. A sum is rounded once a term.
struct Sum {
    template <class T>
    static WEFT_DEVICE T combine(T total, T a, T b) {
        return add(total, mul(a, b));
    }
    static WEFT_DEVICE float combine(float total, float a, float b) { return real::fma(a, b, total); }
    static WEFT_DEVICE double combine(double total, double a, double b) {
        return real::fma(a, b, total);
    }
};
struct Largest {
    template <class T>
    static WEFT_DEVICE T combine(T total, T a, T b) {
        return maximum(total, mul(a, b));
    }
};

// Of row vectors and a matrix of the type A, from `start` on, an identity. The loop over places in
// registers is unrolled where that is not too much code; else vectors are in memory anyway.
template <class A, class Terms, u32 count, class X, class Y>
WEFT_DEVICE void multiply(const X (&x)[count], const typename A::Element* matrix,
                          typename A::Element start, Y (&y)[count] WEFT_HERE) {
    static_assert(X::columns == A::rows && Y::columns == A::columns, "the sizes fit");
    constexpr u32 turns = X::width * Y::width <= 1024 ? X::width / X::pack : 1;
    constexpr u32 under_way = X::pack == 4 ? 1 : 4;
    WEFT_UNROLL(count)
    for (u32 k = 0; k < count; ++k) y[k] = fill<Y>(start);
    for_columns<X, turns, under_way>([&](u32 i, u32 place, u32 lane) {
        const Y row = features_constant<Y>(matrix, i);
        WEFT_UNROLL(count)
        for (u32 k = 0; k < count; ++k) {
            auto factor = x[k][place];
            if constexpr (X::spread) factor = from_lane<X::lanes>(factor, lane WEFT_PASS);
            WEFT_UNROLL(unrolled(Y::width))
            for (u32 j = 0; j < Y::width; ++j) y[k][j] = Terms::combine(y[k][j], factor, row[j]);
        }
    });
}
template <class A, class Terms, class X>
WEFT_DEVICE auto product(const X& x, const typename A::Element* matrix,
                         typename A::Element start WEFT_HERE) {
    const X given[1] = {x};
    Vec<typename A::Element, 1, A::columns, A::lanes> found[1];
    multiply<A, Terms>(given, matrix, start, found WEFT_PASS);
    return found[0];
}

}  // namespace weft

#endif
