// The program around a kernel: reads cases from one file, runs their launches, writes all buffers
// to another.
//
// Cases are little-endian 64-bit words, bytes padded to whole words; results are the bytes of all
// buffers and a word after each case (cases.py is the other side). Each buffer is a heap block of
// exactly its size, so that a sanitizer sees the first byte outside it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "simt.h"

namespace weft::simt {
namespace {

enum ArgKind : u64 { buffer_arg = 0, value_arg = 1 };

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "weft-simt: error: runner: runner:0: %s\n", what);
    std::_Exit(70);
}

class Reader {
 public:
    explicit Reader(const char* path) : file_(std::fopen(path, "rb")) {
        if (file_ == nullptr) give_up("the file of cases cannot be opened");
    }
    ~Reader() { std::fclose(file_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    u64 word() {
        u64 value = 0;
        read(&value, sizeof value);
        return value;
    }
    void bytes(void* memory, u64 count) {
        read(memory, count);
        char padding[8];
        read(padding, (8 - count % 8) % 8);
    }

 private:
    void read(void* memory, u64 count) {
        if (std::fread(memory, 1, count, file_) != count) give_up("the file of cases is cut off");
    }
    std::FILE* file_;
};

struct Buffer {
    void* memory;
    u64 bytes;
};

Buffer read_buffer(Reader& cases) {
    constexpr std::size_t alignment = 256;  // as device allocators give it
    Buffer buffer = {nullptr, cases.word()};
    if (posix_memalign(&buffer.memory, alignment, buffer.bytes) != 0) give_up("out of memory");
    cases.bytes(buffer.memory, buffer.bytes);
    return buffer;
}

void run_launch(Reader& cases, const std::vector<Buffer>& buffers, u64 seed) {
    const u64 kernel_index = cases.word();
    if (kernel_index >= num_kernels) give_up("no such kernel");
    const Kernel& kernel = kernels[kernel_index];
    Shape shape = {};
    shape.grid = static_cast<u32>(cases.word());
    shape.block = static_cast<u32>(cases.word());
    shape.shared_bytes = static_cast<u32>(cases.word());
    shape.cluster = static_cast<u32>(cases.word());
    shape.cooperative = cases.word() != 0;

    const u64 num_args = cases.word();
    if (num_args != kernel.num_args) give_up("the number of arguments is not the kernel's");
    std::vector<std::vector<u64>> storage(num_args);
    std::vector<void*> args(num_args);
    for (u64 i = 0; i < num_args; ++i) {
        const u64 kind = cases.word();
        if (kind == buffer_arg) {
            const u64 index = cases.word();
            if (index >= buffers.size()) give_up("no such buffer");
            storage[i] = {reinterpret_cast<std::uintptr_t>(buffers[index].memory)};
            if (kernel.arg_bytes[i] != sizeof(void*))
                give_up("a buffer was given where the kernel takes a value");
        } else {
            const u64 bytes = cases.word();
            storage[i].resize(bytes / 8 + 1);
            cases.bytes(storage[i].data(), bytes);
            if (kernel.arg_bytes[i] != bytes)
                give_up("a value is not of the size of the kernel's argument");
        }
        args[i] = storage[i].data();
    }
    launch(kernel, args.data(), shape, seed);
}

void run_case(Reader& cases, std::FILE* results) {
    const u64 seed = cases.word();
    const u64 num_buffers = cases.word();
    const u64 num_launches = cases.word();
    std::vector<Buffer> buffers;
    for (u64 i = 0; i < num_buffers; ++i) buffers.push_back(read_buffer(cases));
    for (u64 i = 0; i < num_launches; ++i) run_launch(cases, buffers, seed == 0 ? 0 : seed + i);
    for (const Buffer& buffer : buffers) {
        std::fwrite(buffer.memory, 1, buffer.bytes, results);
        std::free(buffer.memory);
    }
    const u64 ended = 1;
    std::fwrite(&ended, sizeof ended, 1, results);
    std::fflush(results);  // What a later case does, these results stand.
}

}  // namespace
}  // namespace weft::simt

int main(int argc, char** argv) {
    using namespace weft::simt;
    if (argc != 3) give_up("expected a file of cases and a file for results");
    Reader cases(argv[1]);
    std::FILE* results = std::fopen(argv[2], "wb");
    if (results == nullptr) give_up("the file for results cannot be opened");
    for (weft::u64 left = cases.word(); left > 0; --left) run_case(cases, results);
    std::fclose(results);
    std::fprintf(stderr,
                 "weft-simt: counted: atomics=%llu shuffles=%llu votes=%llu warp_barriers=%llu "
                 "block_barriers=%llu arcs=%llu warp_iterations=%llu searches=%llu\n",
                 counts.atomics, counts.shuffles, counts.votes, counts.warp_barriers,
                 counts.block_barriers, counts.arcs, counts.warp_iterations, counts.searches);
    return 0;
}
