# SPDX-License-Identifier: Apache-2.0
# bars.gp - a bar for each way, of two parts one on the other, and the single launches that its mean is of as dots.
#
# Data, those of a way together:
#   way  part  y
# part: lower, upper (heights of the two), launch (a dot: of a whole bar).
# Variables: heading, ytitle; lower, upper, launch: what the parts are; machine (style.gp): a note below the heading.

slide = 1
load share.'/style.gp'
if (!exists("heading")) { heading = model }
is_text = format eq 'dumb'
n_seen = 0
most = 0.0
last_lower = 0.0
see_y(y) = (n_seen = n_seen + 1, most = y > most ? y : most, 1)
see(w, part, y) = (see_mode(w), !is_number(y) ? 0 : part eq 'lower' ? (last_lower = y, see_y(y)) : see_y(part eq 'upper' ? last_lower + y : y))
stats data using (see(strcol(1), strcol(2), cell(3))) nooutput
if (!exists("STATS_records") || n_seen == 0) {
    print data.': no row has way, part and y'
    exit status 1
}
n_ways = words(modes)
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 format eq 'dumb' ? 'upwards: '.ytitle : note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set ylabel ytitle offset 0, 0
if (format eq 'dumb') { unset ylabel } # not turned there
set format y '%g'
set xrange [0.4 : n_ways + 0.6]
set yrange [0 : most * 1.08]
set xtics ()
# A name of several words in two rows.
first_space(t) = strstrt(t[2:], ' ') + 1
rows_of(t) = strstrt(t, ' ') == 0 || strlen(t) < (is_text ? 8 : 11) ? t : t[1:last_space(t) - 1]."\n".t[last_space(t) + 1:]
last_space(t) = strstrt(t[first_space(t) + 1:], ' ') ? first_space(t) + strstrt(t[first_space(t) + 1:], ' ') : first_space(t)
do for [i = 1:n_ways] { set xtics add (rows_of(word(modes, i)) i) }
set grid y lt 1 lc rgb '#dcdcdc' lw 0.8
lower_colour = '#0072B2'
upper_colour = '#E69F00'
entry_names = '"'.lower.'" "'.upper.'" "'.launch.'"'
entry_colours = lower_colour.' '.upper_colour.' #000000'
entry_points = '0 0 7'
entry_lines = '0 0 0'
entry_boxes = '1 1 0'
entry_letters = '= # .'
load share.'/legend.gp'
set datafile missing NaN
set boxwidth 0.62
set style fill solid 1 noborder
place(w) = sum [i = 1:n_ways] (word(modes, i) eq w ? i : 0)
held = 0.0
n_dots = 0
upper_end(part, y) = part eq 'lower' ? (held = y, NaN) : part eq 'upper' ? held + y : NaN
# dots side by side
dot_x(w, part) = part eq 'launch' ? (n_dots = n_dots + 1, place(w) + 0.1 * (int(n_dots) % 5 - 2)) : NaN
if (is_text) {
    unset grid
    plot data using (place(strcol(1))):(upper_end(strcol(2), cell(3))) with points pt '#' notitle, \
        data using (place(strcol(1))):(strcol(2) eq 'lower' ? cell(3) : NaN) with points pt '=' notitle, \
        data using (dot_x(strcol(1), strcol(2))):(strcol(2) eq 'launch' ? cell(3) : NaN) with points pt '.' notitle
    exit
}
plot data using (place(strcol(1))):(upper_end(strcol(2), cell(3))) with boxes lc rgb upper_colour notitle, \
    data using (place(strcol(1))):(strcol(2) eq 'lower' ? cell(3) : NaN) with boxes lc rgb lower_colour notitle, \
    data using (dot_x(strcol(1), strcol(2))):(strcol(2) eq 'launch' ? cell(3) : NaN) with points pt 7 ps 0.6 * dot lc rgb '#000000' notitle
set output
