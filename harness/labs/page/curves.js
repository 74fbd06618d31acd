// SPDX-License-Identifier: Apache-2.0
/*
 * curves.js - losses of the trainings that a lab ran, of which the sliders choose one. Needs chart.js, and sliders.js.
 *
 * What the page holds for it, in #interactive-data:
 *
 *   curves.x        samples at the end of each window; low, high: between which one more run of one worker would be
 *   curves.heading  what was trained; target: the loss that is meant by "to target"
 *   curves.runs     [{ workers, scaling, loss: [of each window; null: broken], to_target: samples or null, verdict }
 * ...]
 */
const curves = section ? data.curves : undefined;
const LOSSES = [ 0.0001, 0.001, 0.01, 0.1, 1, 10, 100 ], SAMPLES = [ 1000, 2000, 5000, 10000, 20000, 50000 ];

// The run of stops to[] of the sliders; of one worker all scalings are the same.
function run_of(to)
{
    const text = (name) => {
        const i = lesson.sliders.findIndex((slider) => slider.name === name);
        return lesson.sliders[i].stops[to[i]].text;
    };
    return curves.runs.find((run) => String(run.workers) === text('workers') &&
                                     (run.workers === 1 || run.scaling === text('scaling')));
}

const run_text = (run) =>
    `${run.workers} worker${run.workers === 1 ? '' : 's'}` + (run.workers === 1 ? '' : `, ${run.scaling}`);

// [samples, loss] up to where there is none.
function points_of(losses)
{
    const n = losses.findIndex((loss) => loss === null);
    return losses.slice(0, n < 0 ? losses.length : n).map((loss, i) => [curves.x[i], loss]);
}

function add_curves()
{
    make(section, 'h3', {}, curves.heading);
    parts.run = make(section, 'p', { id : 'interactive-run', 'aria-live' : 'polite' });
    parts.run_legend = make(section, 'ul', { class : 'legend' });
    parts.run_picture = make(section, 'div', { class : 'picture', id : 'interactive-run-picture' });
}

// now, last: stops of the sliders; last may be null
function draw_curves(now, last)
{
    const run = run_of(now), last_run = last ? run_of(last) : run;
    const all = [...curves.low, ...curves.high, ...run.loss, ...last_run.loss ].filter((loss) => loss > 0);
    const from = 10 ** Math.floor(Math.log10(Math.min(...all))), to = 10 ** Math.ceil(Math.log10(Math.max(...all)));
    const legend = [ [ STYLES.now, `now: ${run_text(run)}` ] ];
    const chart = new Chart(parts.run_picture, 'The training loss against samples.', {
        from : curves.x[0],
        to : curves.x[curves.x.length - 1],
        title : 'samples (logarithmic)',
        log : true,
        ticks : SAMPLES.filter((n) => n >= curves.x[0] && n <= curves.x[curves.x.length - 1])
    },
                            {
                                from,
                                to,
                                title : 'training loss (logarithmic)',
                                log : true,
                                ticks : LOSSES.filter((loss) => loss >= from && loss <= to)
                            });

    chart.line(points_of(curves.low), STYLES.limit);
    chart.line(points_of(curves.high), STYLES.limit);
    if (last_run !== run) {
        chart.line(points_of(last_run.loss), STYLES.before);
        legend.push([ STYLES.before, `before: ${run_text(last_run)}` ]);
    }
    chart.line(points_of(run.loss), STYLES.now);
    legend.push([ STYLES.limit, 'between these one more run of one worker would be, in 95 of 100 cases' ]);
    draw_legend(parts.run_legend, legend);
    const target = run.to_target === null ? 'never comes to' : `after ${run.to_target.toLocaleString('en')} samples at`;
    parts.run.textContent =
        `${run_text(run)}: ${target} a loss of ${curves.target}` + (run.verdict ? `; ${run.verdict}.` : '.');
}
