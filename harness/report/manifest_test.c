/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_test.c - the keys that are promised, and none of this machine in a virtual world. */
#include "harness/report/manifest.h"

#include <jansson.h>

#include "harness/base/suite/unit.h"
#include "harness/report/suite/report_kit.h"

static const char *const of_build[] = { "version",        "git_commit", "git_dirty", "compiler",
                                        "compiler_flags", "build_type", NULL };
static const char *const of_machine[] = { "host",        "kernel",       "cpu_model",
                                          "cores_count", "memory_bytes", "date_utc",
                                          "libraries",   "environment",  "environment_left_out_count",
                                          NULL };
static const char *const of_libraries[] = { "hwloc", "openblas", "onednn", "zeromq", "mpi", "libjpeg", "libpng", NULL };

static json_t *manifest(bool virtual_only)
{
    static struct kit kit;
    struct record *r = NULL;
    json_t *value = NULL;

    assert_true(kit_open(&kit));
    r = record_open("manifest");
    manifest_fill(r, virtual_only);
    assert_int_equal(record_write_file(r, kit_path(&kit, "manifest.json")), RC_OK);
    value = json_loads(kit_read(&kit, "manifest.json"), 0, NULL);
    assert_non_null(value);
    record_close(&r);
    kit_close(&kit);
    return value;
}

static void has(const json_t *object, const char *const *keys, bool expected)
{
    for (size_t i = 0; keys[i]; i++)
        if ((json_object_get(object, keys[i]) != NULL) != expected)
            fail_msg("key %s should %sbe there", keys[i], expected ? "" : "not ");
}

UNIT_TEST(build_and_machine_are_told)
{
    assert_int_equal(setenv("OMP_PLACES", "cores", 1), 0);
    json_t *m = manifest(false);

    has(m, of_build, true);
    has(m, of_machine, true);
    has(json_object_get(m, "libraries"), of_libraries, true);
    const char *places = json_string_value(json_object_get(json_object_get(m, "environment"), "OMP_PLACES"));
    assert_true(places && strcmp(places, "cores") == 0);
    assert_null(json_object_get(json_object_get(m, "environment"), "PATH"));
    assert_true(json_integer_value(json_object_get(m, "cores_count")) >= 1);
    assert_true(json_integer_value(json_object_get(m, "memory_bytes")) > 0);
    const char *date = json_string_value(json_object_get(m, "date_utc"));
    assert_int_equal(strlen(date), strlen("2000-01-01T00:00:00Z"));
    assert_true(date[10] == 'T' && date[19] == 'Z');
    const char *commit = json_string_value(json_object_get(m, "git_commit"));
    bool unknown = strcmp(commit, "unknown") == 0;
    assert_true(unknown || strspn(commit, "0123456789abcdef") == strlen(commit));
    assert_true(unknown ? json_is_null(json_object_get(m, "git_dirty"))
                        : json_is_boolean(json_object_get(m, "git_dirty")));
    assert_true(strlen(json_string_value(json_object_get(m, "compiler"))) > 3);
    const char *flags = json_string_value(json_object_get(m, "compiler_flags"));
    assert_non_null(strstr(flags, "-ffp-contract=off"));
    assert_null(strchr(flags, '$')); /* as the compiler got them, without expressions of CMake */
    json_decref(m);
}

UNIT_TEST(a_virtual_world_has_no_machine_and_no_date)
{
    json_t *a = manifest(true), *b = manifest(true);

    has(a, of_build, true);
    has(a, of_machine, false);
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
}

UNIT_MAIN("manifest")
