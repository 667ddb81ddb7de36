"""Hand-written CUDA of one fixed configuration per task, to measure the cost of generation.

Kernels of graph algorithms are persistent and cooperative, over CSR; a warp takes 32 rows and its
lanes share their slots evenly (weft's schedule `warp`). Kernels of learning (`lp`, `bp`) run one
iteration, with rows sorted by degree. `source(name)` returns the text of a kernel with its shared
headers.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
KERNELS = ("pagerank", "bfs", "sssp", "components")

# Plain CUDA in terms of weft's host emulation, to run the kernels without a GPU.
EMULATION = """
#include "device.cuh"
#include <cmath>
#define EMULATED
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)
#define SHARED(type, name, count) WEFT_SHARED(type, name, count)
namespace plain {
template <unsigned (*get)()>
struct Number {
    operator unsigned() const { return get(); }
};
inline unsigned thread() { return weft::thread_id(); }
inline unsigned block() { return weft::block_id(); }
inline unsigned threads() { return weft::block_size(); }
inline unsigned blocks() { return weft::grid_size(); }
}
static struct { plain::Number<plain::thread> x; } threadIdx;
static struct { plain::Number<plain::block> x; } blockIdx;
static struct { plain::Number<plain::threads> x; } blockDim;
static struct { plain::Number<plain::blocks> x; } gridDim;
#define __shfl_sync(mask, value, lane) weft::shuffle(mask, value, lane)
#define __shfl_up_sync(mask, value, delta) weft::shuffle_up(mask, value, delta)
#define __shfl_down_sync(mask, value, delta) weft::shuffle_down(mask, value, delta)
#define __shfl_xor_sync(mask, value, bits) weft::shuffle_xor(mask, value, bits)
#define __ballot_sync(mask, predicate) weft::ballot(mask, predicate)
#define __reduce_or_sync(mask, value) weft::reduce_or(mask, value)
#define __syncthreads() weft::sync_block()
#define __float_as_uint(value) __builtin_bit_cast(unsigned, value)
#define __syncwarp() weft::sync_warp(0xffffffffu)
#define __popc(word) weft::popcount(static_cast<unsigned>(word))
#define __clz(word) static_cast<int>(weft::clz(static_cast<unsigned>(word)))
#define __ldcg(address) weft::load_relaxed(address)
#define __stcg(address, value) weft::store_relaxed(address, value)
#define atomicAdd(address, value) weft::atomic_add(address, value)
#define atomicMin(address, value) weft::atomic_min(address, value)
#define atomicMax(address, value) weft::atomic_max(address, value)
#define atomicExch(address, value) weft::atomic_exch(address, value)
#define atomicCAS(address, expected, value) weft::atomic_cas(address, expected, value)
"""


def source(
    name: str, threads: int, blocks: int, *, emulated: bool = False, features: int = 0,
    defined: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """Return the text of a kernel for a block size and a number of blocks per multiprocessor."""
    head = f"#define THREADS {threads}\n#define BLOCKS {blocks}\n"
    head += "".join(f"#define {word}\n" for word in defined)
    files = ["common.cuh", f"{name}.cu"]
    if features:
        head += f"#define K {features}\n"
        files.insert(1, "features.cuh")
    texts = [(HERE / file).read_text(encoding="utf-8") for file in files]
    return "\n".join([EMULATION if emulated else "", head, *texts])
