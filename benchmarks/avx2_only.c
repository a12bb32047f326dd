/* Hides AVX-512, AVX-VNNI and AMX from a program and the programs that it starts, so that they compute as on a processor
   with AVX2 only:

       cc -O2 -shared -fPIC -o avx2_only.so benchmarks/avx2_only.c
       LD_PRELOAD=$PWD/avx2_only.so python3 benchmarks/translation_speed.py ...

   Linux lets a thread trap the instruction `cpuid` (arch_prctl(2), ARCH_CPUID) on processors with `cpuid_fault` in
   /proc/cpuinfo; threads inherit that. The handler executes the instruction, and clears the bits of what is hidden.
   The C library has chosen its own functions before, such as memcpy, and keeps them. Programs that are linked statically
   are not changed. With -DHIDE_VNNI_ONLY, AVX-512 stays, and its VNNI, AVX-VNNI and AMX are hidden. */

#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_CPUID 0x1012

static void trap_cpuid(int is_trapped) {
    if (syscall(SYS_arch_prctl, ARCH_CPUID, !is_trapped) != 0) {
        perror("avx2_only: this processor or kernel cannot trap cpuid");
        _exit(1);
    }
}

static void answer(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    if (info->si_code != SI_KERNEL || code[0] != 0x0f || code[1] != 0xa2) {
        signal(number, SIG_DFL); /* another fault: it happens again, without this handler */
        return;
    }
    unsigned leaf = registers[REG_RAX], part = registers[REG_RCX], a, b, c, d;
    trap_cpuid(0);
    __cpuid_count(leaf, part, a, b, c, d);
    trap_cpuid(1);
    if (leaf == 7 && part == 0) {
#ifndef HIDE_VNNI_ONLY
        b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);
        c &= ~(1u << 1 | 1u << 6 | 1u << 12 | 1u << 14);
#endif
        c &= ~(1u << 11);
        d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);
    } else if (leaf == 7 && part == 1) {
        a &= ~(1u << 4 | 1u << 5 | 1u << 21 | 1u << 23); /* AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA */
        d &= ~(1u << 4 | 1u << 5 | 1u << 8 | 1u << 10 | 1u << 19); /* AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, … */
    }
    registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void hide(void) {
    /* Rust's own handler of this signal is installed only if there is none. */
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    if (sigaction(SIGSEGV, &action, NULL) != 0) {
        perror("avx2_only: sigaction");
        _exit(1);
    }
    trap_cpuid(1);
}
