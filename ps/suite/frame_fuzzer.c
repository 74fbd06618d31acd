/* SPDX-License-Identifier: Apache-2.0 */
/* frame_fuzzer.c - frame_fuzz() as libFuzzer calls it: frame_fuzzer CORPUS, of clang's -fsanitize=fuzzer. */
#include <stdio.h>
#include <stdlib.h>

#include "ps/suite/frame_fuzz.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes); /* the name is libFuzzer's */

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes)
{
    struct fuzz_outcome outcome;
    const char *why = NULL;

    if (!frame_fuzz(&outcome, &why, bytes, n_bytes)) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    return 0;
}
