// Compressed rows with offsets of 32 bits.
#ifndef WEFT_FORMAT_CSR32_CUH
#define WEFT_FORMAT_CSR32_CUH

#include "csr.cuh"

namespace weft {

template <class Vertex>
using Csr32 = CompressedRows<Vertex, u32>;

}  // namespace weft

#endif
