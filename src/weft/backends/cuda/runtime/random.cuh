// Counter-based random numbers, the same bits as weft/arrays/random.py.
#ifndef WEFT_RANDOM_CUH
#define WEFT_RANDOM_CUH

#include "device.cuh"

namespace weft {

// The finaliser of splitmix64.
WEFT_DEVICE u64 mix_bits(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
WEFT_DEVICE u64 random_bits(u64 key, u64 counter) {
    return mix_bits(mix_bits(key + 0x9e3779b97f4a7c15ull) ^ (counter * 0xd1342543de82ef95ull));
}
// In [0, 1), a multiple of 2^-53.
WEFT_DEVICE double random_unit(u64 key, u64 counter) {
    constexpr double unit = 1.0 / 9007199254740992.0;
    return static_cast<double>(random_bits(key, counter) >> 11) * unit;
}

}  // namespace weft

#endif
