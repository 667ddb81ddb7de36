// First values of fields: one value everywhere, and another one at one item.
//
// Two fields go together, in words of four bytes; one of 0 words is none. Values of eight bytes have
// two words, which take turns.
#ifndef WEFT_FILL_CUH
#define WEFT_FILL_CUH

#include "device.cuh"

namespace weft {

struct FilledField {
    void* memory;  // begins where 16 bytes can be written at once
    i64 count;     // of words
    i64 even, odd;
    i64 place;     // the first word of the item that is another
    i64 other_even, other_odd;
    i64 words;     // of that item; 0: there is none

    WEFT_DEVICE u64 word(i64 i) const {
        const i64 within = i - place;
        if (within >= 0 && within < words) {
            return static_cast<u32>(within == 0 ? other_even : other_odd);
        }
        return static_cast<u32>((i & 1) == 0 ? even : odd);
    }
    WEFT_DEVICE void fill() const {
        for (i64 at = 4 * global_id(); at < count; at += 4 * global_size()) {
            if (at + 4 <= count) {
                const TwoWords four{word(at) | word(at + 1) << 32,
                                    word(at + 2) | word(at + 3) << 32};
                *reinterpret_cast<TwoWords*>(static_cast<u32*>(memory) + at) = four;
            } else {
                for (i64 i = at; i < count; ++i) {
                    static_cast<u32*>(memory)[i] = static_cast<u32>(word(i));
                }
            }
        }
    }
};

}  // namespace weft

extern "C" __global__ void fill_fields(
    void* memory_0, weft::i64 count_0, weft::i64 even_0, weft::i64 odd_0, weft::i64 place_0,
    weft::i64 other_even_0, weft::i64 other_odd_0, weft::i64 words_0, void* memory_1,
    weft::i64 count_1, weft::i64 even_1, weft::i64 odd_1, weft::i64 place_1,
    weft::i64 other_even_1, weft::i64 other_odd_1, weft::i64 words_1) {
    const weft::FilledField fields[] = {
        {memory_0, count_0, even_0, odd_0, place_0, other_even_0, other_odd_0, words_0},
        {memory_1, count_1, even_1, odd_1, place_1, other_even_1, other_odd_1, words_1}};
    fields[0].fill();
    fields[1].fill();
}

#endif
