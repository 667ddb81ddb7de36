// Fields of the vertices from one order into another: what lies at places[i] comes to i.
//
// Up to four fields go together, so that the places are read once; one of 0 bytes is none.
#ifndef WEFT_CARRY_CUH
#define WEFT_CARRY_CUH

#include "device.cuh"

namespace weft {

struct CarriedField {
    const void* from;
    void* to;
    i64 bytes;  // of a value

    WEFT_DEVICE void carry(i64 place, i64 at) const {
        switch (bytes) {
            case 1: carry_as<u8>(place, at); break;
            case 2: carry_as<unsigned short>(place, at); break;
            case 4: carry_as<u32>(place, at); break;
            case 8: carry_as<u64>(place, at); break;
            default: break;
        }
    }
    template <class Word>
    WEFT_DEVICE void carry_as(i64 place, i64 at) const {
        static_cast<Word*>(to)[at] = static_cast<const Word*>(from)[place];
    }
};

template <class Vertex>
WEFT_DEVICE void carry_fields(const Vertex* places, i64 n, const CarriedField& a,
                              const CarriedField& b, const CarriedField& c,
                              const CarriedField& d) {
    for (i64 i = global_id(); i < n; i += global_size()) {
        const i64 place = static_cast<i64>(load_constant(places + i));
        a.carry(place, i);
        b.carry(place, i);
        c.carry(place, i);
        d.carry(place, i);
    }
}

}  // namespace weft

extern "C" __global__ void carry_32(const weft::i32* places, weft::i64 n, const void* from_0,
                                    void* to_0, weft::i64 bytes_0, const void* from_1, void* to_1,
                                    weft::i64 bytes_1, const void* from_2, void* to_2,
                                    weft::i64 bytes_2, const void* from_3, void* to_3,
                                    weft::i64 bytes_3) {
    weft::carry_fields(places, n, {from_0, to_0, bytes_0}, {from_1, to_1, bytes_1},
                       {from_2, to_2, bytes_2}, {from_3, to_3, bytes_3});
}

extern "C" __global__ void carry_64(const weft::i64* places, weft::i64 n, const void* from_0,
                                    void* to_0, weft::i64 bytes_0, const void* from_1, void* to_1,
                                    weft::i64 bytes_1, const void* from_2, void* to_2,
                                    weft::i64 bytes_2, const void* from_3, void* to_3,
                                    weft::i64 bytes_3) {
    weft::carry_fields(places, n, {from_0, to_0, bytes_0}, {from_1, to_1, bytes_1},
                       {from_2, to_2, bytes_2}, {from_3, to_3, bytes_3});
}

#endif
