// Fibres: stacks of their own, switched within one OS thread, with what the sanitizers must be told
// about it.
#ifndef WEFT_SIMT_FIBRE_H
#define WEFT_SIMT_FIBRE_H

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifdef WEFT_SIMT_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEFT_SIMT_THREAD
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

#if !defined(__x86_64__) || defined(WEFT_SIMT_UCONTEXT)
#define WEFT_SIMT_USES_UCONTEXT
#include <ucontext.h>
#endif

namespace weft::simt {

struct Fibre {
#ifdef WEFT_SIMT_USES_UCONTEXT
    ucontext_t context;
#else
    void* stack_pointer = nullptr;
#endif
    char* stack = nullptr;
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;  // ASan's
    void* shadow = nullptr;      // TSan's
};

#ifndef WEFT_SIMT_USES_UCONTEXT
// Save what the calling convention lets a function keep, exchange the stacks, and return on the
// other one.
extern "C" void weft_simt_switch(void** save_stack_pointer, void* stack_pointer);
asm(R"(
    .text
    .globl weft_simt_switch
    .type weft_simt_switch, @function
weft_simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size weft_simt_switch, .-weft_simt_switch
)");
#endif

// The OS thread's own stack as a fibre, to come back to.
inline void adopt_current(Fibre& fibre) {
    pthread_attr_t attributes;
    void* stack = nullptr;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &fibre.stack_bytes);
    pthread_attr_destroy(&attributes);
    fibre.stack = static_cast<char*>(stack);
#ifdef WEFT_SIMT_THREAD
    fibre.shadow = __tsan_get_current_fiber();
#endif
}

// A fibre that starts in `entry`, which must never return.
inline void create(Fibre& fibre, void (*entry)()) {
    constexpr std::size_t guard_bytes = 4096;
    constexpr std::size_t stack_bytes = 256 * 1024;  // A sanitizer writes its report on it, too.
    void* memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("weft-simt: no memory for the stack of a fibre");
        std::abort();
    }
    mprotect(memory, guard_bytes, PROT_NONE);
    fibre.stack = static_cast<char*>(memory) + guard_bytes;
    fibre.stack_bytes = stack_bytes;
#ifdef WEFT_SIMT_USES_UCONTEXT
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack;
    fibre.context.uc_stack.ss_size = stack_bytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, entry, 0);
#else
    // Six zero registers, then the address to return to; above it a zero ends every stack trace.
    constexpr std::size_t saved_registers = 6;
    auto** top = reinterpret_cast<void**>(fibre.stack + stack_bytes);
    top[-1] = nullptr;
    top[-2] = reinterpret_cast<void*>(entry);
    fibre.stack_pointer = top - 2 - saved_registers;
#endif
#ifdef WEFT_SIMT_THREAD
    fibre.shadow = __tsan_create_fiber(0);
#endif
}

// The first thing that a new fibre does.
inline void arrive() {
#ifdef WEFT_SIMT_ADDRESS
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

// ThreadSanitizer's view of who runs changes by become() alone.
inline void switch_fibre(Fibre& from, Fibre& to) {
#ifdef WEFT_SIMT_ADDRESS
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef WEFT_SIMT_USES_UCONTEXT
    swapcontext(&from.context, &to.context);
#else
    weft_simt_switch(&from.stack_pointer, to.stack_pointer);
#endif
#ifdef WEFT_SIMT_ADDRESS
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// Let ThreadSanitizer take what follows as done by this fibre. The run-time acts as the main fibre
// wherever it runs: its own lists, which all fibres use in turn, are no race of the kernel's.
inline void become(const Fibre& fibre) {
#ifdef WEFT_SIMT_THREAD
    __tsan_switch_to_fiber(fibre.shadow, __tsan_switch_to_fiber_no_sync);
#else
    (void)fibre;
#endif
}

// Memory that no thread counts as the writer of: it belongs to all threads of a block at once.
inline void* allocate_unwritten(std::size_t bytes) {
    constexpr std::size_t alignment = 128;
    void* memory = nullptr;
#ifdef WEFT_SIMT_THREAD
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    if (posix_memalign(&memory, alignment, bytes) != 0) std::abort();
#ifdef WEFT_SIMT_THREAD
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
    return memory;
}
inline void free_unwritten(void* memory) {
#ifdef WEFT_SIMT_THREAD
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    std::free(memory);
#ifdef WEFT_SIMT_THREAD
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
}

}  // namespace weft::simt

#endif
