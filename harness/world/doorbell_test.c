/* SPDX-License-Identifier: Apache-2.0 */
/* doorbell_test.c - a ring wakes a sleeper of another process, at once: here a sleep has no slices that would hide it.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/world/wait.h"

enum { ALARM_S = 20 }; /* ends a process that nobody wakes */

#define HOUR_NS UINT64_C(3600000000000)

struct page {
    struct doorbell bell;
    int value; /* plain: the ring orders it */
};

static struct page *open_page(void)
{
    struct page *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    p->bell.between_processes = true;
    return p;
}

/* The state of a process is the first letter after its name, which is in brackets. */
static bool sleeps(pid_t pid)
{
    char path[64], text[512] = "";
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        (void)fclose(file);
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

UNIT_TEST(a_ring_wakes_another_process)
{
    struct page *page = open_page();
    const uint32_t seen = doorbell_seen(&page->bell);
    int status = -1;

    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(ALARM_S);
        _exit(doorbell_wait(&page->bell, seen, false, HOUR_NS) && page->value == 7 ? 0 : 1);
    }
    while (atomic_load(&page->bell.n_sleepers) == 0 || !sleeps(child))
        sched_yield();
    page->value = 7;
    doorbell_ring(&page->bell);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(atomic_load(&page->bell.n_sleepers), 0);
    assert_int_equal(munmap(page, sizeof *page), 0);
}

UNIT_MAIN("doorbell")
