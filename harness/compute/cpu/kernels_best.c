/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_best.c - which build of the kernels this CPU runs fastest. */
#include "harness/compute/cpu/kernels.h"

extern const struct cpu_kernels cpu_kernels_base;
#if GRADMARK_X86_KERNELS
extern const struct cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512, cpu_kernels_bf16;
#endif

const struct cpu_kernels *cpu_kernels_best(void)
{
#if GRADMARK_X86_KERNELS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512bf16") ? &cpu_kernels_bf16 : &cpu_kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &cpu_kernels_avx2;
#endif
    return &cpu_kernels_base;
}
