# SPDX-License-Identifier: Apache-2.0
# lesson.gp - curves of a lesson, one for each line.
#
# Data, those of a line together and in their order:
#   line  x  y
# Variables: heading, xtitle, ytitle; axes: "plain", else both are logarithmic; marks: "1": a mark at every point;
# machine (style.gp): a note below the heading.

load share.'/style.gp'
if (!exists("heading")) { heading = model }
if (!exists("axes")) { axes = 'logarithmic' }
if (!exists("marks")) { marks = '' }
is_log = axes ne 'plain'
most = -1e300
least = 1e300
first = 1e300
last = -1e300
is_shown(x, y) = is_number(y) && (!is_log || (x > 0 && y > 0))
see(l, x, y) = (see_mode(l), is_shown(x, y) ? (most = y > most ? y : most, least = y < least ? y : least, \
    first = x < first ? x : first, last = x > last ? x : last, 1) : 0)
stats data using (see(strcol(1), cell(2), cell(3))) nooutput
if (!exists("STATS_records") || STATS_records == 0 || last < first) {
    print data.': no row has line, x and y'.(is_log ? ' above 0' : '')
    exit status 1
}
n_lines = words(modes)
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel xtitle
set ylabel ytitle offset 0, 0
if (is_log) {
    set logscale xy 10
    least = least < most * 1e-9 ? most * 1e-9 : least
    set yrange [least / 2 : most * 2]
    set xrange [first : (last > first ? last : 2 * first) * (last / first) ** 0.02]
    if (last < 300 * first) { # few decades: more numbers on the axis
        set xtics ()
        do for [decade = int(floor(log10(first))):int(ceil(log10(last)))] {
            do for [digit in '1 2 5'] { set xtics add (sprintf('%g', digit * 10.0 ** decade) digit * 10.0 ** decade) }
        }
    }
    if (most < 100 * least) {
        set ytics ()
        do for [decade = int(floor(log10(least))):int(ceil(log10(most)))] {
            do for [digit in '1 2 5'] { set ytics add (sprintf('%g', digit * 10.0 ** decade) digit * 10.0 ** decade) }
        }
    }
} else {
    margin = most > least ? 0.05 * (most - least) : 1
    set yrange [least - margin : most + margin]
    set xrange [first : last > first ? last : first + 1]
}
set format y '%g'
set format x '%g'
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #56B4E9 #E69F00'
line_dashes = '1 13 12 14 15 16'
line_points = '7 9 5 13 11 15'
of_line(list, i) = word(list, (i - 1) % 6 + 1)
entry_names = modes
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
do for [i = 1:n_lines] {
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.(marks eq '1' ? of_line(line_points, i) : '0')
    entry_lines = entry_lines.' '.of_line(line_dashes, i)
    entry_boxes = entry_boxes.' 0'
}
load share.'/legend.gp'
set datafile missing NaN
# Marks of size 0 would be ones that some viewers of SVG refuse.
if (marks eq '1') {
    plot for [i = n_lines:1:-1] data using (strcol(1) eq word(modes, i) ? $2 : NaN):(strcol(1) eq word(modes, i) && is_shown($2, $3) ? $3 : NaN) \
        with linespoints lc rgb of_line(line_colours, i) lw 2.5 dt int(of_line(line_dashes, i)) pt int(of_line(line_points, i)) \
        ps 0.9 * dot title key_title(i)
} else {
    plot for [i = n_lines:1:-1] data using (strcol(1) eq word(modes, i) ? $2 : NaN):(strcol(1) eq word(modes, i) && is_shown($2, $3) ? $3 : NaN) \
        with lines lc rgb of_line(line_colours, i) lw 2.5 dt int(of_line(line_dashes, i)) title key_title(i)
}
set output
