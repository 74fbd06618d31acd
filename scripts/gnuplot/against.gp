# SPDX-License-Identifier: Apache-2.0
# against.gp - a few values of each line against a number, with points at them: measured, or a formula beside them.
#
# Data, those of a line together and in their order:
#   line  kind  x  y  [low  high]
# kind: measured (points, joined by a line), point (points alone), formula (a line alone).
# low, high: where ranges is 'yes'; a bar of a point of kind measured. high never: up to the top.
# In letters: a letter for each value of a line, its own; of a formula alone a dot.
# Variables: heading, xtitle, ytitle; logx, logy, ranges: 'yes' or 'no' (as without); machine (style.gp): a note below the heading.

slide = 1
load share.'/style.gp'
if (!exists("heading")) { heading = model }
if (!exists("logx")) { logx = 'no' }
if (!exists("logy")) { logy = 'no' }
if (!exists("ranges")) { ranges = 'no' }
has_ranges = ranges eq 'yes'
number_of(k) = strcol(k) eq 'never' ? NaN : cell(k)
most = -1e300
least = 1e300
first = 1e300
last = -1e300
xs = ''
n_seen = 0
measures = ''
see_kind(l, k) = (strstrt(measures, '"'.l.':'.k.'"') ? 0 : (measures = measures.' "'.l.':'.k.'"', 0))
see_x(x) = (strstrt(xs.' ', sprintf(' %g ', x)) ? 0 : (xs = xs.sprintf(' %g', x), 0))
see(l, k, x, y) = (see_mode(l), see_kind(l, k), see_x(x), first = x < first ? x : first, last = x > last ? x : last, is_number(y) ? (most = y > most ? y : most, \
    least = y < least ? y : least, n_seen = n_seen + 1, 1) : 0)
stats data using (see(strcol(1), strcol(2), cell(3), number_of(4))) nooutput
if (has_ranges) { stats data using (see(strcol(1), strcol(2), cell(3), number_of(6))) nooutput }
if (!exists("STATS_records") || n_seen == 0) {
    print data.': no row has line, kind, x and y'
    exit status 1
}
n_lines = words(modes)
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 format eq 'dumb' ? 'upwards: '.ytitle : note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel xtitle
set ylabel ytitle offset 0, 0
if (format eq 'dumb') { unset ylabel } # not turned there
set format y '%g'
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8
if (logx eq 'yes') {
    set logscale x 2
    room = last > first ? (last / first) ** 0.05 : 1.5
    set xrange [first / room : last * room]
} else {
    room = last > first ? 0.05 * (last - first) : 1
    set xrange [first - room : last + room]
}
set xtics ()
do for [x in xs] { set xtics add (x real(x)) }
if (logy eq 'yes') {
    set logscale y 10
    set yrange [least / 1.5 : most * 1.5]
    set ytics () nomirror
    do for [k = floor(log10(least / 1.5)) : ceil(log10(most * 1.5))] {
        do for [m in '1 2 5'] { set ytics add (sprintf('%g', m * 10.0 ** k) m * 10.0 ** k) }
    }
} else {
    set yrange [0 : most * 1.08]
}
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #56B4E9 #E69F00'
line_points = '7 9 5 13 11 15'
line_dashes = '1 13 12 14 15 16'
of_line(list, i) = word(list, (i - 1) % 6 + 1)
has(i, k) = strstrt(measures, '"'.word(modes, i).':'.k.'"') > 0
entry_names = modes
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
entry_letters = ''
letters = 'o x + = % &'
letter_of(i) = has(i, 'measured') || has(i, 'point') ? of_line(letters, i) : '.'
do for [i = 1:n_lines] {
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.(has(i, 'measured') || has(i, 'point') ? of_line(line_points, i) : '0')
    entry_lines = entry_lines.' '.(has(i, 'measured') || has(i, 'formula') ? of_line(line_dashes, i) : '0')
    entry_boxes = entry_boxes.' 0'
    entry_letters = entry_letters.' '.letter_of(i)
}
load share.'/legend.gp'
set datafile missing NaN
# Points at the same number stand a little apart.
n_pointed = sum [i = 1:n_lines] has(i, 'point')
rank_of(i) = sum [k = 1:i] has(k, 'point')
aside(i, x) = logx eq 'yes' ? x * (last / first) ** (0.012 * (rank_of(i) - (n_pointed + 1) / 2.0)) : x
of(i, kind) = strcol(1) eq word(modes, i) && strcol(2) eq kind ? number_of(4) : NaN
# Ranges at the same number, too: each line a little to the right of the one before.
spread_x(i, x) = !has_ranges ? x : logx eq 'yes' ? x * (last / first) ** (0.012 * (i - (n_lines + 1) / 2.0)) : \
    x + 0.012 * (last - first) * (i - (n_lines + 1) / 2.0)
top(k) = strcol(k) eq 'never' ? (logy eq 'yes' ? most * 1.5 : most * 1.08) : cell(k)
if (is_text) {
    unset grid
    plot for [i = n_lines:1:-1] data using 3:(has(i, 'point') ? of(i, 'point') : has(i, 'measured') ? of(i, 'measured') : of(i, 'formula')) \
        with points pt letter_of(i) notitle
    exit
}
bars = !has_ranges ? '' : "for [i = n_lines:1:-1] data using (spread_x(i, $3)):(of(i, 'measured')):(number_of(5)):(top(6)) ".\
    "with yerrorbars lc rgb of_line(line_colours, i) lw 1.5 pt 0 notitle, "
plot for [i = n_lines:1:-1] data using 3:(of(i, 'formula')) with lines lc rgb of_line(line_colours, i) lw 2.5 \
        dt int(of_line(line_dashes, i)) notitle, \
    @bars for [i = n_lines:1:-1] data using (spread_x(i, $3)):(of(i, 'measured')) with linespoints lc rgb of_line(line_colours, i) lw 2.5 \
        dt int(of_line(line_dashes, i)) pt int(of_line(line_points, i)) ps 0.85 * dot notitle, \
    for [i = n_lines:1:-1] data using (aside(i, $3)):(of(i, 'point')) with points pt int(of_line(line_points, i)) ps 1.1 * dot \
        lc rgb of_line(line_colours, i) notitle
set output
