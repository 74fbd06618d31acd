// SPDX-License-Identifier: Apache-2.0
/*
 * sliders.js - the section of a lesson's page whose sliders work out the path anew. Needs path.js and chart.js;
 * curves.js, where the page has curves. Begun by start.js.
 *
 * What the page holds for it: the section #interactive, and #interactive-data, JSON:
 *
 *   x, y, seed       the samples; least: [slope, offset]; means: of the samples x, y, xx, xy, yy
 *   lesson.sliders   [{ name, label, start, stops: [{ text, option, set: { setting: value ... } } ...] } ...]; start is
 *                    the text of a stop; in place of stops a slider may have numbers, and the option that takes one
 *   lesson.fixed     settings that no slider sets: see setting()
 *   lesson.command   the words of the program's command that are always the same
 *
 * An address that ends in #name=text&name=text begins with these stops, so a teacher can give away a state of the page.
 */
const section = document.getElementById('interactive');
const data = section && JSON.parse(document.getElementById('interactive-data').textContent);
const lesson = section && data.lesson;
const samples = section && new Samples(data.seed, data.x, data.y);
const MOST_DOTS = 1500, N_FIRST = 40;
const CONTOURS = [ 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4 ];
const parts = {};                // of the section, by name
let chosen = [];                 // of each slider, the index of its stop
let shown = null, before = null; // { path, text, chosen }

function make(parent, name, properties, text)
{
    const element = document.createElement(name);
    Object.entries(properties).forEach(([ key, value ]) => element.setAttribute(key, value));
    element.textContent = text || '';
    parent.appendChild(element);
    return element;
}

// --- what a state of the sliders means ---

// Numbers become stops.
function complete(slider)
{
    slider.stops = slider.stops || slider.numbers.map((number) => ({
                                                          text : String(number),
                                                          option : slider.option ? `${slider.option} ${number}` : '',
                                                          set : { [slider.name] : number },
                                                      }));
}

const start_of = (slider) => slider.stops.findIndex((stop) => stop.text === slider.start);
const stop_of = (slider, i) => slider.stops[chosen[i]];

// All that path_of() needs.
function setting()
{
    const s = {
        workers : 1,
        batch : 1,
        momentum : 0,
        scaling : 'none',
        warmup_epochs : 0,
        over_staleness : false,
        ...lesson.fixed
    };
    lesson.sliders.forEach((slider, i) => Object.assign(s, stop_of(slider, i).set));
    const n_samples = s.epochs ? s.epochs * samples.x.length : s.n_samples;
    s.n_steps = s.n_updates ? Math.floor(s.n_updates / s.workers) : Math.floor(n_samples / (s.workers * s.batch));
    return s;
}

// What a student types for the same path.
function command()
{
    const options = lesson.sliders.map((slider, i) => stop_of(slider, i).option).filter((option) => option);
    return [ lesson.command, ...options, '--steps', setting().n_steps, '--trajectory path.csv' ].join(' ');
}

function state_text()
{
    return lesson.sliders.map((slider, i) => `${slider.name}=${encodeURIComponent(stop_of(slider, i).text)}`).join('&');
}

const legend_text = () => lesson.sliders.map((slider, i) => `${slider.name} ${stop_of(slider, i).text}`).join(', ');

// Take a state from the page's address; says what it does not know.
function take_address()
{
    const unknown = [];
    for (const word of location.hash.slice(1).split('&').filter((w) => w.includes('='))) {
        const name = word.slice(0, word.indexOf('=')), text = decodeURIComponent(word.slice(name.length + 1));
        const i = lesson.sliders.findIndex((slider) => slider.name === name);
        const stop = i < 0 ? -1 : lesson.sliders[i].stops.findIndex((s) => s.text === text);
        if (i < 0)
            unknown.push(`${name}: no slider; there are ${lesson.sliders.map((slider) => slider.name).join(', ')}`);
        else if (stop < 0)
            unknown.push(`${name}=${text}: not one of ${lesson.sliders[i].stops.map((s) => s.text).join(', ')}`);
        else
            chosen[i] = stop;
    }
    parts.unknown.textContent = unknown.join('. ');
    parts.unknown.hidden = unknown.length === 0;
}

// --- figures ---

function loss_of([ slope, offset ])
{
    const m = data.means;
    return slope * slope * m.xx + 2 * slope * offset * m.x + offset * offset - 2 * slope * m.xy - 2 * offset * m.y +
           m.yy;
}

// Diverged: farther from the least loss than it began.
function figures_of(path)
{
    const [slope, offset] = path.points[path.points.length - 1], n_updates = path.points.length - 1;
    const loss = loss_of([ slope, offset ]), least = loss_of(data.least), n_samples = n_updates * path.samples_each;
    const diverged = path.has_left || !(loss < loss_of(path.points[0]));
    return [
        [ 'updates', n_updates.toLocaleString('en') ], [ 'samples', n_samples.toLocaleString('en') ],
        [ 'slope', number_text(slope) ], [ 'offset', number_text(offset) ], [ 'loss', number_text(loss) ],
        [ 'above the smallest loss', number_text(loss - least) ],
        [ 'mean staleness', number_text(path.mean_staleness) ], [ 'verdict', diverged ? 'diverged' : 'stable' ]
    ].filter(([ name ]) => name !== 'mean staleness' || lesson.fixed.n_updates);
}

function show_figures(path)
{
    parts.figures.textContent = '';
    for (const [name, value] of figures_of(path)) {
        const pair = make(parts.figures, 'div', {});
        make(pair, 'dt', {}, name);
        make(pair, 'dd', { id : `interactive-${name.replace(/ /g, '-')}` }, value);
    }
}

// --- the picture ---

function draw_contours(chart)
{
    const [slope, offset] = data.least, x = data.means.x, spread = data.means.xx - x * x;
    for (const above of CONTOURS) {
        const at = (t) => [slope + Math.sqrt(above / spread) * Math.cos(t),
                           offset + Math.sqrt(above) * Math.sin(t) - x * Math.sqrt(above / spread) * Math.cos(t)];
        const places = Array.from({ length : 121 }, (_, k) => at(k * Math.PI / 60));
        const d = places.map(([ a, b ], k) => `${k === 0 ? 'M' : 'L'}${chart.x(a).toFixed(1)} ${chart.y(b).toFixed(1)}`)
                      .join('');
        add(chart.plot, 'path', { d, fill : 'none', stroke : STYLES.contour.colour });
        const [a, b] = at(-0.3);
        if (above >= 0.03 && a < 3.8)
            add(chart.plot, 'text', { x : chart.x(a) + 3, y : chart.y(b), 'font-size' : 12, fill : '#505050' },
                String(above));
    }
}

function draw_path(chart, path, style)
{
    const rest = path.points.slice(N_FIRST), each = Math.floor(rest.length / MOST_DOTS) + 1;
    chart.dots(rest.filter((_, k) => k % each === 0), style);
    chart.line(path.points.slice(0, N_FIRST), style);
}

function draw()
{
    const cross = { colour : '#FF0000', marker : 'cross' };
    const legend = [ [ STYLES.now, 'now: a line for the first steps, points for later ones' ] ];
    const chart = new Chart(parts.picture, 'The path through slope and offset over the loss.',
                            { from : 0, to : 4, title : 'slope', ticks : [ 0, 1, 2, 3, 4 ] },
                            { from : -0.5, to : 0.5, title : 'offset', ticks : [ -0.4, -0.2, 0, 0.2, 0.4 ] });
    draw_contours(chart);
    if (before) {
        draw_path(chart, before.path, STYLES.before);
        legend.push([ STYLES.before, `before: ${before.text}` ]);
    }
    draw_path(chart, shown.path, STYLES.now);
    draw_marker(chart.plot, cross, chart.x(data.least[0]), chart.y(data.least[1]));
    legend.push([ cross, 'least squares' ],
                [ STYLES.contour, 'equal loss; the number says how far above the smallest loss' ]);
    draw_legend(parts.legend, legend);
    if (curves)
        draw_curves(shown.chosen, before && before.chosen);
}

// --- the section ---

// The sliders have moved: work out, and show.
function follow()
{
    lesson.sliders.forEach((slider, i) => {
        const text = stop_of(slider, i).text;
        parts.inputs[i].value = chosen[i];
        parts.inputs[i].setAttribute('aria-valuetext', text);
        parts.outputs[i].textContent = text;
    });
    if (!shown || legend_text() !== shown.text) {
        before = shown;
        shown = { path : path_of(samples, setting()), text : legend_text(), chosen : chosen.slice() };
    }
    show_figures(shown.path);
    show_command();
    parts.link.setAttribute('href', `#${state_text()}`);
    draw();
}

// Each word that holds a hyphen in an element of its own, within which no line ends.
function show_command()
{
    parts.command.textContent = '';
    command().split(' ').forEach((word, i) => {
        parts.command.append(i > 0 ? ' ' : '');
        if (word.includes('-'))
            make(parts.command, 'span', {}, word);
        else
            parts.command.append(word);
    });
}

function add_slider(box, slider, i)
{
    const row = make(box, 'div', { class : 'slider' }), id = `interactive-${slider.name}`;
    make(row, 'label', { for: id
    }, slider.label);
    parts.outputs[i] = make(row, 'output', { for: id
    });
    parts.inputs[i] = make(row, 'input', { type : 'range', id, min : 0, max : slider.stops.length - 1, step : 1 });
    parts.inputs[i].addEventListener('input', () => {
        chosen[i] = Number(parts.inputs[i].value);
        follow();
    });
}

function add_parts()
{
    const box = make(section, 'div', { class : 'sliders' });
    parts.inputs = [];
    parts.outputs = [];
    lesson.sliders.forEach((slider, i) => add_slider(box, slider, i));
    const actions = make(section, 'p', { class : 'actions' });
    make(actions, 'button', { type : 'button', id : 'interactive-reset' }, 'Reset').addEventListener('click', () => {
        chosen = lesson.sliders.map(start_of);
        follow();
    });
    parts.link = make(actions, 'a', { href : '#' }, 'Link to this state');
    parts.unknown = make(section, 'p', { class : 'alert', role : 'alert', hidden : '' });
    parts.figures = make(section, 'dl', { 'aria-live' : 'polite' });
    parts.legend = make(section, 'ul', { class : 'legend' });
    parts.picture = make(section, 'div', { class : 'picture', id : 'interactive-picture' });
    const typed = make(section, 'p', {}, 'The same path by the program: ');
    parts.command = make(typed, 'code', { id : 'interactive-command' });
    if (curves)
        add_curves();
}
