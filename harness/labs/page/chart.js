// SPDX-License-Identifier: Apache-2.0
/*
 * chart.js - pictures of the page, as SVG in the width that there is: a frame with axes, lines, dots, a legend above
 * it.
 *
 * Lines differ by dash and marker beside their colours, as in the pictures of scripts/gnuplot/style.gp.
 */
const STYLES = {
    now : { colour : '#0072B2', dash : '', marker : 'circle' },
    before : { colour : '#D55E00', dash : '7 4', marker : 'square' },
    limit : { colour : '#606060', dash : '2 3', marker : '' },
    contour : { colour : '#a0a0a0', dash : '', marker : '' },
};
const FONT_PX = 14, TICK_PX = 5, MARKER_PX = 3;

function add(parent, name, attributes, text)
{
    const of_svg = document.createElementNS('http://www.w3.org/2000/svg', name);
    Object.entries(attributes).forEach(([ key, value ]) => of_svg.setAttribute(key, value));
    if (text !== undefined)
        of_svg.textContent = text;
    parent.appendChild(of_svg);
    return of_svg;
}

// 0.001, 0.05, 20, 1e-7
function number_text(value)
{
    const text = Number(value.toPrecision(4));
    return text !== 0 && Math.abs(text) < 1e-4 ? text.toExponential() : String(text);
}

/*
 * A picture in `box`, in place of what was there.
 *
 *   x, y  { from, to, title, ticks: [number ...], log: true or missing }
 *
 * Of what comes back, x(value) and y(value) are places in it, `plot` is a group that shows nothing beyond the axes.
 */
class Chart
{
    constructor(box, what_it_shows, x, y)
    {
        const width = Math.max(280, Math.min(900, box.clientWidth)), height = Math.max(300, Math.round(width * 0.5));
        const left = 62, right = width - 14, top = 14, bottom = height - 50;
        const place = (axis, value, from, to) => {
            const of = axis.log ? Math.log : Number;
            const ratio = (of(value) - of(axis.from)) / (of(axis.to) - of(axis.from));
            return Math.max(-1e5, Math.min(1e5, from + ratio * (to - from)));
        };

        box.textContent = '';
        this.svg =
            add(box, 'svg',
                { viewBox : `0 0 ${width} ${height}`, width, height, role : 'img', 'aria-label' : what_it_shows });
        this.x = (value) => place(x, value, left, right);
        this.y = (value) => place(y, value, bottom, top);
        const clip = add(this.svg, 'clipPath', { id : `${box.id}-clip` });
        add(clip, 'rect', { x : left, y : top, width : right - left, height : bottom - top });
        this.draw_axes({ left, right, top, bottom, height }, x, y);
        this.plot = add(this.svg, 'g', { 'clip-path' : `url(#${box.id}-clip)` });
    }

    draw_axes(at, x, y)
    {
        const axes = add(this.svg, 'g', { 'font-size' : FONT_PX, fill : '#202020' });
        for (const tick of x.ticks) {
            add(axes, 'path', { d : `M${this.x(tick)} ${at.top}V${at.bottom}`, stroke : '#e4e4e4' });
            add(axes, 'text', { x : this.x(tick), y : at.bottom + TICK_PX + FONT_PX, 'text-anchor' : 'middle' },
                number_text(tick));
        }
        for (const tick of y.ticks) {
            add(axes, 'path', { d : `M${at.left} ${this.y(tick)}H${at.right}`, stroke : '#e4e4e4' });
            add(axes, 'text', { x : at.left - TICK_PX, y : this.y(tick) + FONT_PX / 3, 'text-anchor' : 'end' },
                number_text(tick));
        }
        add(axes, 'path', { d : `M${at.left} ${at.top}V${at.bottom}H${at.right}`, stroke : '#404040', fill : 'none' });
        const middle = (at.top + at.bottom) / 2;
        add(axes, 'text', { x : (at.left + at.right) / 2, y : at.height - 8, 'text-anchor' : 'middle' }, x.title);
        add(axes, 'text', { x : 14, y : middle, 'text-anchor' : 'middle', transform : `rotate(-90 14 ${middle})` },
            y.title);
    }

    // points: [x, y] ...; a marker at each
    line(points, style)
    {
        const places = points.map(([ x, y ]) => [this.x(x), this.y(y)]);
        const d = places.map(([ x, y ], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
        add(this.plot, 'path', { d, fill : 'none', stroke : '#ffffff', 'stroke-width' : 4 });
        add(this.plot, 'path',
            { d, fill : 'none', stroke : style.colour, 'stroke-width' : 2, 'stroke-dasharray' : style.dash });
        places.forEach(([ x, y ]) => draw_marker(this.plot, style, x, y));
    }

    // As points alone: one path of lines that have no length, with round or square ends.
    dots(points, style)
    {
        const d = points.map(([ x, y ]) => `M${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}h0`).join('');
        add(this.plot, 'path', {
            d,
            stroke : style.colour,
            'stroke-width' : 2.5,
            'stroke-linecap' : style.marker === 'square' ? 'square' : 'round'
        });
    }
}

function draw_marker(parent, style, x, y)
{
    if (style.marker === 'circle')
        add(parent, 'circle', { cx : x.toFixed(1), cy : y.toFixed(1), r : MARKER_PX, fill : style.colour });
    if (style.marker === 'square')
        add(parent, 'rect', {
            x : (x - MARKER_PX).toFixed(1),
            y : (y - MARKER_PX).toFixed(1),
            width : 2 * MARKER_PX,
            height : 2 * MARKER_PX,
            fill : '#ffffff',
            stroke : style.colour,
            'stroke-width' : 1.5
        });
    if (style.marker === 'cross') {
        const d = `M${x - 9} ${y}h18M${x} ${y - 9}v18`;
        add(parent, 'path', { d, stroke : '#ffffff', 'stroke-width' : 6 });
        add(parent, 'path', { d, stroke : style.colour, 'stroke-width' : 3.5 });
    }
}

// A list above a picture: a piece of each line, and its name.
function draw_legend(list, entries)
{
    list.textContent = '';
    for (const [style, name] of entries) {
        const item = document.createElement('li');
        const svg = add(item, 'svg', { width : 40, height : 20, 'aria-hidden' : 'true' });
        if (style.marker !== 'cross')
            add(svg, 'path',
                { d : 'M0 10H40', stroke : style.colour, 'stroke-width' : 2, 'stroke-dasharray' : style.dash });
        draw_marker(svg, style, 20, 10);
        item.appendChild(document.createTextNode(name));
        list.appendChild(item);
    }
}
