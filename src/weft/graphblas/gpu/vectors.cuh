// The operands of a product of a matrix and a vector, for pushes.cuh and pulls.cuh.
//
// A vector is an array of values with a map of which are there. What is put in front: Left, Right
// and Sum, the types of factors and sums, and M, that of a mask's values, with LeftStored, ... those
// of arrays; product_of and sum_of; and `flipped`, if the vector is the left factor.
#ifndef WEFT_GRAPHBLAS_VECTORS_CUH
#define WEFT_GRAPHBLAS_VECTORS_CUH

#include "mask.cuh"

namespace weft {

template <bool second, class A, class B>
struct Choice {
    using type = A;
};
template <class A, class B>
struct Choice<true, A, B> {
    using type = B;
};
using CellStored = typename Choice<flipped, LeftStored, RightStored>::type;
using GivenStored = typename Choice<flipped, RightStored, LeftStored>::type;

WEFT_DEVICE Sum made_of(CellStored cell, GivenStored x) {
    if constexpr (flipped) {
        return product_of(static_cast<Left>(x), static_cast<Right>(cell));
    } else {
        return product_of(static_cast<Left>(cell), static_cast<Right>(x));
    }
}

}  // namespace weft

#endif
