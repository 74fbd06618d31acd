/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_segments_test.c - mapped files of Open MPI's names go, others stay, and what is mapped stays readable. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/world/mpi/mpi_segments.h"

enum { N_BYTES = 4096 };

/* A file of that name in `folder`; mapped: its memory, which begins with "here", else NULL. */
static char *make_file(char path[256], const char *folder, const char *name, int mapped)
{
    char *memory = NULL;

    assert_true(snprintf(path, 256, "%s/%s", folder, name) < 256);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, N_BYTES), 0);
    assert_int_equal(pwrite(fd, "here", 5, 0), 5);
    if (mapped) {
        memory = mmap(NULL, N_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(memory != MAP_FAILED);
    }
    close(fd);
    return memory;
}

static void mapped_segments_go_and_nothing_else(void **state)
{
    static const struct {
        const char *name;
        int mapped, goes;
    } file[] = {
        { "vader_segment.host.0.1a2b0001.0", 1, 1 }, /* its own */
        { "vader_segment.host.0.1a2b0001.1", 1, 1 }, /* another rank's */
        { "vader_segment.host.0.77770001.0", 0, 0 }, /* another job's */
        { "not_vader_segment.host.0.1", 1, 0 },      { "vader_segment", 1, 0 },
    };
    enum { N = sizeof file / sizeof *file };
    char folder[] = "/dev/shm/gradmark-test-XXXXXX", path[N][256];
    char *memory[N];

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < N; i++)
        memory[i] = make_file(path[i], folder, file[i].name, file[i].mapped);
    mpi_segments_remove();
    mpi_segments_remove(); /* of what is gone: nothing */
    for (int i = 0; i < N; i++) {
        assert_int_equal(access(path[i], F_OK), file[i].goes ? -1 : 0);
        if (memory[i]) {
            assert_string_equal(memory[i], "here");
            assert_int_equal(munmap(memory[i], N_BYTES), 0);
        }
        if (!file[i].goes)
            assert_int_equal(unlink(path[i]), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(mapped_segments_go_and_nothing_else) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
