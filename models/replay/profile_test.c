/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_test.c FILE - profiles saved, loaded, refused, made from networks; published rates, of which FILE is the
 * shipped table.
 */
#include <math.h>
#include <sys/stat.h>

#include "harness/base/suite/unit.h"
#include "models/replay/published.h"
#include "models/suite/profile_kit.h"
#include "models/workload.h"

static const char *table_path; /* set once, by main */

#define ADDRESS(name) &workload_##name,
static const struct workload *const networks[] = { NETWORK_LIST(ADDRESS) };
enum { N_NETWORKS = sizeof networks / sizeof *networks };

static int set_up(void **state)
{
    static struct profile_kit kit;

    *state = &kit;
    return profile_kit_open(&kit);
}

static int tear_down(void **state)
{
    profile_kit_close(*state);
    return 0;
}

static void same_profile(const struct profile *a, const struct profile *b)
{
    assert_string_equal(a->model, b->model);
    assert_string_equal(a->precision, b->precision);
    assert_string_equal(a->device, b->device);
    assert_string_equal(a->source, b->source);
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->image_size, b->image_size);
    assert_int_equal(a->n_classes, b->n_classes);
    assert_int_equal(a->width_divisor, b->width_divisor);
    assert_int_equal(a->n_threads, b->n_threads);
    assert_true(a->aux_head == b->aux_head);
    assert_true(a->images_per_s == b->images_per_s);
    assert_int_equal(a->n_layers, b->n_layers);
    for (int i = 0; i < a->n_layers; i++) {
        const struct profile_layer *l = &a->layer[i], *m = &b->layer[i];
        assert_string_equal(l->name, m->name);
        assert_true(l->forward_ns == m->forward_ns && l->backward_ns == m->backward_ns);
        assert_true(l->gemm_forward_ns == m->gemm_forward_ns && l->gemm_backward_ns == m->gemm_backward_ns);
        assert_true(l->flops_forward == m->flops_forward && l->flops_backward == m->flops_backward);
        assert_true(l->bytes_forward == m->bytes_forward && l->bytes_backward == m->bytes_backward);
        assert_int_equal(l->n_tensors, m->n_tensors);
        for (int k = 0; k < l->n_tensors; k++) {
            assert_string_equal(l->tensor[k].name, m->tensor[k].name);
            assert_int_equal(l->tensor[k].n_elems, m->tensor[k].n_elems);
        }
    }
}

UNIT_TEST_WITH(j1_what_was_saved_is_loaded, set_up, tear_down)
{
    const struct profile_kit *k = *state;
    struct profile *a = profile_kit_small(), *b = NULL;

    assert_non_null(a);
    assert_int_equal(profile_save(a, k->path), RC_OK);
    assert_int_equal(profile_load(&b, k->path), RC_OK);
    same_profile(a, b);
    assert_int_equal(profile_n_params(b), 45 + 5 + 3000 + 12 + 130);
    assert_int_equal(profile_n_tensors(b), 5);
    assert_int_equal(profile_step_ns(b), 1009 + 503 + 20011 + 30011 + 7001 + 9001 + 40009 + 80021 + 10007 + 21001);
    profile_close(&a);
    profile_close(&b);
    profile_close(&b);
}

UNIT_TEST_WITH(j1_extremes_are_kept, set_up, tear_down)
{
    const struct profile_kit *k = *state;
    struct profile *a = profile_kit_small(), *b = NULL;

    assert_non_null(a);
    memset(a->layer[2].name, 'n', sizeof a->layer[2].name - 1);
    memset(a->source, 's', sizeof a->source - 1);
    a->layer[0].forward_ns = (uint64_t)PROFILE_MAX_LAYER_NS;
    a->layer[1].flops_forward = PROFILE_MAX_WORK;
    a->layer[3].tensor[0].n_elems = 900000000000;
    a->images_per_s = 0.1 + 0.2;
    a->batch = PROFILE_MAX_BATCH;
    a->aux_head = true;
    assert_int_equal(profile_save(a, k->path), RC_OK);
    assert_int_equal(profile_load(&b, k->path), RC_OK);
    same_profile(a, b);
    profile_close(&a);
    profile_close(&b);
}

UNIT_TEST_WITH(a_profile_that_cannot_be_written_leaves_nothing, set_up, tear_down)
{
    const struct profile_kit *k = *state;
    struct profile *p = profile_kit_small();
    struct stat about;

    assert_non_null(p);
    assert_int_equal(profile_save(p, "/nowhere/at/all.json"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/nowhere/at/all.json"));
    snprintf(p->device, sizeof p->device, "\xff\xfe");
    assert_int_equal(profile_save(p, k->path), RC_INVAL);
    assert_int_not_equal(stat(k->path, &about), 0);
    profile_close(&p);
}

/* A whole file, with one text put in the place of another. */
struct wrong {
    const char *from, *to;  /* to: NULL cuts the file before `from` */
    const char *says, *and; /* what the message holds */
};

static const struct wrong wrongs[] = {
    { "gradmark-profile", "gradmark-profiles", "is no profile", "format" },
    { "\"version\": 1", "\"version\": 2", "version: is 2", "1 to 1" },
    { "\"batch\": 8", "\"batch\": 0", "batch: is 0", "from 1 to 1048576" },
    { "\"batch\": 8", "\"batch\": 8.5", "batch: is 8.5", "whole number" },
    { "\"batch\": 8", "\"batch\": \"8\"", "batch: is \"8\"", "whole number" },
    { "\"batch\": 8", "\"batch\": 8, \"batch\": 9", ":5:", "duplicate" },
    { "\"batch\"", "\"bacth\"", "key \"bacth\"", "nearest is batch" },
    { " \"batch\": 8,\n", "", "the file has no \"batch\"", "every key is needed" },
    { "\"image_size\": 32", "\"image_size\": 0", "image_size: is 0", "1 to 65536" },
    { "\"classes\": 10", "\"classes\": -1", "classes: is -1", "1 to" },
    { "\"aux_head\": false", "\"aux_head\": 0", "aux_head: is 0", "true or false" },
    { "\"width_divisor\": 1", "\"width_divisor\": null", "width_divisor: is null", "whole number" },
    { "\"threads\": 2", "\"threads\": 1e99", "threads: is 1", "0 to 65536" },
    { "\"precision\": \"fp32\"", "\"precision\": \"fp31\"", "precision: is \"fp31\"", "fp32, tf32, bf16 or amp" },
    { "\"model\": \"handmade\"", "\"model\": \"\"", "model: is \"\"", "1 to 31 bytes" },
    { "\"model\": \"handmade\"", "\"model\": \"abcdefghijklmnopqrstuvwxyz0123456\"", "model: is", "1 to 31 bytes" },
    { "\"model\": \"handmade\"", "\"model\": \"two\\nlines\"", "model: is \"two\\nlines\"", "printable" },
    { "\"model\": \"handmade\"", "\"model\": \"lenet\"", "of another model", "8" },
    { "\"images_per_s\": ", "\"images_per_s\": -", "images_per_s: is -", "0 to" },
    { "\"layers\": [", "\"layers\": [[],", "layers[0] is no object", "\"name\"" },
    { "\"name\": \"pool\"", "\"name\": \"c1\"", "layers[2].name: is \"c1\"", "as one before it" },
    { "\"name\": \"c2/b\"", "\"name\": \"c1/w\"", "layers[3].tensors[1].name: is \"c1/w\"", "as one before it" },
    { "\"forward_ns\": 7001", "\"forward_ns\": -7001", "layers[2].forward_ns: is -7001", "0 to 3600000000000" },
    { "\"forward_ns\": 7001", "\"forward_ns\": 3600000000001", "layers[2].forward_ns: is 3600000000001", "0 to" },
    { "\"forward_ns\": 7001", "\"forward_ns\": 0.5", "layers[2].forward_ns: is 0.5", "whole" },
    { "\"forward_ns\": 7001", "\"forward_ns\": 99999999999999999999", ":", "JSON" },
    { "\"backward_ns\": 80021", "\"backward_ns\": true", "layers[3].backward_ns: is true", "whole number" },
    { "\"n_elems\": 3000", "\"n_elems\": 0", "layers[3].tensors[0].n_elems: is 0", "1 to 1000000000000" },
    { "\"n_elems\": 3000", "\"n_elems\": 999999999999", "layers: their tensors have", "1 to 1000000000000" },
    { "\"n_elems\": 3000", "\"elems\": 3000", "layers[3].tensors[0] has a key \"elems\"", "n_elems" },
    { "{\"name\": \"fc/w\"", "7, {\"name\": \"fc/w\"", "layers[4].tensors[0] is no object", "\"name\"" },
    { "\"tensors\": [{\"name\": \"fc/w\", \"n_elems\": 130}]", "\"tensors\": {}", "layers[4].tensors: is {}", "array" },
    { "\"c2\"", NULL, ":", "profile in JSON" },
    { "{\n", NULL, ":1:", "profile in JSON" },
};

/* out: the saved file's text, changed. */
static size_t change(char *out, size_t n_bytes, const char *text, const struct wrong *w)
{
    const char *at = strstr(text, w->from);

    assert_non_null(at);
    if (w->to == NULL)
        return (size_t)snprintf(out, n_bytes, "%.*s", (int)(at - text), text);
    return (size_t)snprintf(out, n_bytes, "%.*s%s%s", (int)(at - text), text, w->to, at + strlen(w->from));
}

UNIT_TEST_WITH(each_error_names_file_key_value_and_remedy, set_up, tear_down)
{
    const struct profile_kit *k = *state;
    static char text[16384], changed[17000];
    struct profile *p = profile_kit_small();

    assert_non_null(p);
    assert_int_equal(profile_save(p, k->path), RC_OK);
    profile_close(&p);
    FILE *from = fopen(k->path, "r");
    assert_non_null(from);
    text[fread(text, 1, sizeof text - 1, from)] = '\0';
    fclose(from);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const size_t n_bytes = change(changed, sizeof changed, text, &wrongs[i]);
        assert_true(profile_kit_write(k, changed, n_bytes));
        if (profile_load(&p, k->path) != RC_INVAL || strncmp(rc_message(), k->path, strlen(k->path)) != 0 ||
            strstr(rc_message(), wrongs[i].says) == NULL || strstr(rc_message(), wrongs[i].and) == NULL)
            fail_msg("%s -> %s: %s", wrongs[i].from, wrongs[i].to ? wrongs[i].to : "cut", rc_message());
        assert_null(p);
    }
}

UNIT_TEST_WITH(what_is_no_file_is_refused, set_up, tear_down)
{
    const struct profile_kit *k = *state;
    struct profile *p = NULL;

    assert_int_equal(profile_load(&p, k->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "No such file"));
    assert_int_equal(profile_load(&p, k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), k->dir));
    assert_true(profile_kit_write(k, "", 0));
    assert_int_equal(profile_load(&p, k->path), RC_INVAL);
    assert_true(profile_kit_write(k, "3", 1));
    assert_int_equal(profile_load(&p, k->path), RC_INVAL);
    unlink(k->path);
    assert_int_equal(mkfifo(k->path, 0600), 0); /* without a writer: a reader would block */
    assert_int_equal(profile_load(&p, k->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "not a regular file"));
    assert_null(p);
}

UNIT_TEST_WITH(j2_a_network_is_itself_and_no_other, set_up, tear_down)
{
    const struct profile_kit *k = *state;

    for (int i = 0; i < N_NETWORKS; i++) {
        const struct workload *is_ours = NULL;
        struct network *n = NULL;
        struct profile *p = NULL, *again = NULL;

        assert_int_equal(network_open(&n, networks[i]->network, &(struct network_opts){ 0 }), RC_OK);
        assert_int_equal(profile_of_network(&p, n, 4), RC_OK);
        assert_int_equal(profile_n_params(p), n->n_params);
        assert_int_equal(profile_n_tensors(p), n->n_segments);
        assert_int_equal(profile_step_ns(p), 0);
        assert_true(fabs(profile_flops(p) / (4 * network_train_flops(n)) - 1) < 1e-9);
        assert_int_equal(profile_save(p, k->path), RC_OK);
        assert_int_equal(profile_load(&again, k->path), RC_OK);
        same_profile(p, again);
        profile_close(&again);
        /* one tensor of it is another */
        p->layer[0].tensor[0].n_elems++;
        assert_int_equal(profile_save(p, k->path), RC_OK);
        if (workload_find(&is_ours, p->model) == RC_OK && is_ours->network != NULL) {
            assert_int_equal(profile_load(&again, k->path), RC_INVAL);
            assert_non_null(strstr(rc_message(), "of another model"));
            assert_null(again);
        }
        profile_close(&p);
        profile_close(&again);
        network_close(&n);
    }
}

UNIT_TEST_WITH(j3_the_step_is_spread_to_the_nanosecond, set_up, tear_down)
{
    static const uint64_t step_ns[] = { 1, 2, 97, 1000003, 535987654321 };

    for (int i = 0; i < N_NETWORKS; i++) {
        struct network *n = NULL;
        struct profile *p = NULL;

        assert_int_equal(network_open(&n, networks[i]->network, &(struct network_opts){ 0 }), RC_OK);
        assert_int_equal(profile_of_network(&p, n, 64), RC_OK);
        for (size_t k = 0; k < sizeof step_ns / sizeof *step_ns; k++) {
            assert_int_equal(profile_spread(p, step_ns[k]), RC_OK);
            assert_int_equal(profile_step_ns(p), step_ns[k]);
        }
        profile_close(&p);
        network_close(&n);
    }
}

UNIT_TEST_WITH(shares_follow_the_work, set_up, tear_down)
{
    struct network *n = NULL;
    struct profile *p = NULL;
    const uint64_t step_ns = 1000000000;

    assert_int_equal(network_open(&n, workload_resnet50.network, &(struct network_opts){ 0 }), RC_OK);
    assert_int_equal(profile_of_network(&p, n, 64), RC_OK);
    assert_int_equal(profile_spread(p, step_ns), RC_OK);
    const double all = network_train_flops(n);
    for (int i = 0; i < p->n_layers; i++) {
        const double forward_ns = 2 * node_multiply_adds(&n->node[i]) / all * (double)step_ns;
        const double factor = n->node[i].from == NODE_IMAGE ? 1 : 2; /* an image has no gradient */
        assert_true(fabs((double)p->layer[i].forward_ns - forward_ns) <= 2);
        assert_true(fabs((double)p->layer[i].backward_ns - factor * forward_ns) <= 2);
    }
    assert_true(p->layer[0].forward_ns > 0);
    profile_close(&p);
    p = profile_kit_small();
    for (int i = 0; i < p->n_layers; i++)
        p->layer[i].flops_forward = p->layer[i].flops_backward = 0;
    assert_int_equal(profile_spread(p, 5), RC_INVAL);
    profile_close(&p);
    network_close(&n);
}

UNIT_TEST_WITH(the_shipped_rates_can_be_read, set_up, tear_down)
{
    struct published all = { 0 };

    assert_int_equal(published_load(&all, table_path), RC_OK);
    assert_true(all.n_rates > 100);
    for (size_t i = 0; i < all.n_rates; i++) {
        int n_known = 0;
        for (int k = 0; k < N_NETWORKS; k++)
            n_known += strcmp(networks[k]->module.name, all.rate[i].model) == 0;
        assert_int_equal(n_known, 1);
    }
    published_free(&all);
    published_free(&all);
}

static const struct published_rate *chosen(const struct published *all, const char *gpu, const char *model, int batch)
{
    const struct published_wish wish = { .gpu = gpu, .model = model, .precision = "fp32", .batch = batch };
    const struct published_rate *r = NULL;

    assert_int_equal(published_choose(&r, NULL, all, &wish), RC_OK);
    return r;
}

UNIT_TEST_WITH(a_row_is_chosen_by_the_rule, set_up, tear_down)
{
    struct published all = { 0 };

    assert_int_equal(published_load(&all, table_path), RC_OK);
    assert_true(chosen(&all, "P100", "resnet50", 0)->images_per_s == 219);  /* synthetic, 64, first */
    assert_true(chosen(&all, "p100", "resnet50", 32)->images_per_s == 195); /* batch as asked */
    assert_true(chosen(&all, "K80", "alexnet", 0)->images_per_s == 533.51); /* 64 before 512 */
    published_free(&all);
}

UNIT_TEST_WITH(derived_profiles_say_so_and_take_the_published_time, set_up, tear_down)
{
    struct published all = { 0 };
    struct network *n = NULL;
    struct profile *p = NULL;

    assert_int_equal(published_load(&all, table_path), RC_OK);
    assert_int_equal(network_open(&n, workload_resnet50.network, &(struct network_opts){ 0 }), RC_OK);
    assert_int_equal(published_profile(&p, chosen(&all, "P100", "resnet50", 0), n), RC_OK);
    assert_int_equal(profile_step_ns(p), 292237443); /* models.J3: 64 / 219 s */
    assert_int_equal(p->batch, 64);
    assert_true(p->images_per_s == 219);
    assert_non_null(strstr(p->source, "derived, not measured: 219 images/s, P100-SXM2, batch 64, fp32"));
    assert_non_null(strstr(p->source, "tensorflow.org"));
    profile_close(&p);
    assert_int_equal(published_profile(&p, chosen(&all, "V100-SXM2", "resnet50", 0), n),
                     RC_OK); /* of an unknown batch */
    assert_non_null(strstr(p->source, "assumed: not published"));
    profile_close(&p);
    network_close(&n);
    published_free(&all);
}

UNIT_TEST_WITH(what_was_not_published_is_told, set_up, tear_down)
{
    static const struct {
        struct published_wish wish;
        const char *says, *and;
    } cases[] = {
        { { "P1", "resnet50", "fp32", 0 }, "--published P1:", "P100, K80" },
        { { "P200", "resnet50", "fp32", 0 }, "--published P200", "P100, K80" },
        { { "M40", "vgg16", "fp32", 0 }, "--model vgg16", "resnet50, inception3" },
        { { "P100", "resnet50", "bf16", 0 }, "--precision bf16", "there are fp32" },
        { { "P100", "resnet50", "fp32", 48 }, "--batch 48", "64, 32, 1, 2" },
    };
    const struct published_rate *r = NULL;
    struct published all = { 0 };

    assert_int_equal(published_load(&all, table_path), RC_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(published_choose(&r, NULL, &all, &cases[i].wish), RC_INVAL);
        if (strstr(rc_message(), cases[i].says) == NULL || strstr(rc_message(), cases[i].and) == NULL)
            fail_msg("case %zu: %s", i, rc_message());
        assert_null(r);
    }
    published_free(&all);
}

#define HEAD "model,gpu,batch,precision,data,images_per_s,framework,confidence,year,source,note\n"

UNIT_TEST_WITH(malformed_rates_name_file_and_line, set_up, tear_down)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "", "has no rows" },
        { HEAD, "has no rows" },
        { "# c\nmodel,gpu\n", ":2: the head" },
        { HEAD "a,b,1,fp32,real,5,f,table,2017,s\n", ":2: has not as many" },
        { HEAD "a,b,1,fp32,real,5,f,table,2017,s,n,more\n", ":2: has not as many" },
        { HEAD "a,\"b,1,fp32,real,5,f,table,2017,s,n\n", ":2: a quote is not closed" },
        { HEAD "a,\"b\"x,1,fp32,real,5,f,table,2017,s,n\n", ":2: a quote is not closed" },
        { HEAD "\n# c\na,b,0,fp32,real,5,f,table,2017,s,n\n", ":4: batch: is \"0\"" },
        { HEAD "a,b,1,fp32,real,0,f,table,2017,s,n\n", ":2: images_per_s: is \"0\"" },
        { HEAD "a,b,1,fp32,real,fast,f,table,2017,s,n\n", ":2: images_per_s: is \"fast\"" },
        { HEAD ",b,1,fp32,real,5,f,table,2017,s,n\n", ":2: model: is \"\"" },
        { HEAD "a,b,1,fp32-and-more,real,5,f,table,2017,s,n\n", ":2: precision" },
        { HEAD "a,b,1,fp32,real,5,f,table,year,s,n\n", ":2: year" },
    };
    const struct profile_kit *k = *state;
    struct published p = { 0 };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(profile_kit_write(k, cases[i].text, strlen(cases[i].text)));
        if (published_load(&p, k->path) != RC_INVAL || strstr(rc_message(), cases[i].says) == NULL ||
            strncmp(rc_message(), k->path, strlen(k->path)) != 0)
            fail_msg("case %zu: %s", i, rc_message());
        assert_null(p.rate);
    }
    assert_true(profile_kit_write(k, HEAD "a,\"b, \"\"c\"\"\",,fp32,real,5.5,f,table,,s,\"\"\n",
                                  strlen(HEAD "a,\"b, \"\"c\"\"\",,fp32,real,5.5,f,table,,s,\"\"\n")));
    assert_int_equal(published_load(&p, k->path), RC_OK);
    assert_string_equal(p.rate[0].gpu, "b, \"c\"");
    assert_int_equal(p.rate[0].batch, 0);
    published_free(&p);
}

/* Names without a first word, alone and behind another. */
UNIT_TEST_WITH(a_gpu_in_brackets_is_named_whole, set_up, tear_down)
{
    static const char rows[] = HEAD "resnet50,(P100),64,fp32,real,5,f,table,2017,s,n\n"
                                    "resnet50,K80,64,fp32,real,5,f,table,2017,s,n\n"
                                    "resnet50,-,64,fp32,real,5,f,table,2017,s,n\n";
    const struct profile_kit *k = *state;
    const struct published_wish wish = { "V100", "", "", 0 };
    const struct published_rate *r = NULL;
    struct published p = { 0 };

    assert_true(profile_kit_write(k, rows, strlen(rows)));
    assert_int_equal(published_load(&p, k->path), RC_OK);
    assert_int_equal(published_choose(&r, NULL, &p, &wish), RC_INVAL);
    if (strstr(rc_message(), "there are (P100), K80, -") == NULL)
        fail_msg("%s", rc_message());
    published_free(&p);
}

int main(int argc, char **argv)
{
    table_path = argc > 1 ? argv[1] : "";
    return unit_run("profile", NULL, NULL, NULL);
}
