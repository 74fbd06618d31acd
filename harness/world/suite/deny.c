/* SPDX-License-Identifier: Apache-2.0 */
/* deny.c - filters of system calls, and capabilities; the contract is in deny.h. */
#include "harness/world/suite/deny.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool deny_call(long call, int argument, unsigned value, int error)
{
    const uint32_t verdict = error ? SECCOMP_RET_ERRNO | (uint32_t)error : SECCOMP_RET_KILL_PROCESS;
    const uint32_t offset_bytes =
        (uint32_t)(offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)(argument < 0 ? 0 : argument));
    const uint8_t n_skipped = argument < 0 ? 0 : 1; /* of an argument that may be any */
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset_bytes),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n_skipped),
        BPF_STMT(BPF_RET | BPF_K, verdict),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool deny_trace(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct set[2];

    if (syscall(SYS_capget, &header, set) != 0)
        return false;
    set[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
    set[CAP_TO_INDEX(CAP_SYS_PTRACE)].permitted &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
    return syscall(SYS_capset, &header, set) == 0;
}
