"""Hand-written CUDA of one fixed configuration per task, to measure what generating it costs.

All are persistent cooperative kernels over CSR in which a warp takes 32 rows and its lanes their
slots evenly (weft's schedule `warp`). `source(name)` is the text of one, with what they share.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
KERNELS = ("pagerank", "bfs", "sssp", "components")

# Plain CUDA in terms of weft's host emulation, to run the kernels without a GPU.
EMULATION = """
#include "device.cuh"
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
#define __syncwarp() weft::sync_warp(0xffffffffu)
#define __popc(word) weft::popcount(static_cast<unsigned>(word))
#define __clz(word) static_cast<int>(weft::clz(static_cast<unsigned>(word)))
#define __ldcg(address) weft::load_relaxed(address)
#define __stcg(address, value) weft::store_relaxed(address, value)
#define atomicAdd(address, value) weft::atomic_add(address, value)
#define atomicMin(address, value) weft::atomic_min(address, value)
#define atomicExch(address, value) weft::atomic_exch(address, value)
#define atomicCAS(address, expected, value) weft::atomic_cas(address, expected, value)
"""


def source(name: str, threads: int, blocks: int, *, emulated: bool = False) -> str:
    """Return the text of a kernel for blocks of so many threads, so many on a multiprocessor."""
    head = f"#define THREADS {threads}\n#define BLOCKS {blocks}\n"
    texts = [(HERE / file).read_text(encoding="utf-8") for file in ("common.cuh", f"{name}.cu")]
    return "\n".join([EMULATION if emulated else "", head, *texts])
