# SPDX-License-Identifier: Apache-2.0
# lesson.gp - curves of a lesson, one for each line.
#
# Data, those of a line together and in their order:
#   line  x  y  high
# high: nan, or of a band from y to high, which has no line. y may be "never": the line has no point at x, and the picture says so.
# Variables: heading, xtitle, ytitle; axes: "plain", else both are logarithmic; marks: "1": a mark at every point;
# machine (style.gp): a note below the heading; on_top: "last": of lines that cover each other
# the last is seen, else the first; ends: "1": each line's name at its last point, too, with a mark.
# In letters: a letter for each point of a line, its own.

slide = 1
load share.'/style.gp'
if (!exists("heading")) { heading = model }
if (!exists("axes")) { axes = 'logarithmic' }
if (!exists("marks")) { marks = '' }
if (!exists("ends")) { ends = '' }
if (!exists("on_top")) { on_top = 'first' }
never_at = '' # x and line, in turn
bands = ''
is_log = axes ne 'plain'
most = -1e300
least = 1e300
first = 1e300
last = -1e300
is_shown(x, y) = is_number(y) && (!is_log || (x > 0 && y > 0))
see_range(y) = (most = y > most ? y : most, least = y < least ? y : least, 0)
see_x(x) = (first = x < first ? x : first, last = x > last ? x : last, 0)
see_band(l) = strstrt(bands, '"'.l.'"') ? 0 : (bands = bands.' "'.l.'"', 0)
see(l, x, y, high) = (see_mode(l), is_shown(x, high) ? (see_range(high), see_band(l)) : 0, is_shown(x, y) ? (see_range(y), see_x(x), 1) : 0)
see_never(l, x) = (see_mode(l), see_x(x), never_at = never_at.sprintf(' %g "%s"', x, l), 0)
number(k) = strcol(k) eq 'never' ? NaN : cell(k)
stats data using (strcol(3) eq 'never' ? see_never(strcol(1), cell(2)) : see(strcol(1), cell(2), number(3), cell(4))) nooutput
if (!exists("STATS_records") || STATS_records == 0 || last < first) {
    print data.': no row has line, x and y'.(is_log ? ' above 0' : '')
    exit status 1
}
n_lines = words(modes)
end_xs = ''
end_ys = ''
see_end(x, y) = is_shown(x, y) ? (end_x = x, end_y = y, 0) : 0
do for [i = 1:n_lines] {
    end_x = NaN
    end_y = NaN
    stats data using (strcol(1) eq word(modes, i) ? see_end(cell(2), number(3)) : 0) nooutput
    end_xs = end_xs.sprintf(' %.9g', end_x)
    end_ys = end_ys.sprintf(' %.9g', end_y)
}
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 format eq 'dumb' ? 'upwards: '.ytitle : note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel xtitle
set ylabel ytitle offset 0, 0
if (format eq 'dumb') { unset ylabel } # not turned there
if (is_log) {
    set logscale xy 10
    least = least < most * 1e-13 ? most * 1e-13 : least
    set yrange [least / 2 : most * 2]
    room = (last / first) ** 0.02
    set xrange [marks eq '1' ? first / room : first : (last > first ? last : 2 * first) * room]
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
    room = marks eq '1' ? 0.02 * (last - first) : 0
    set xrange [first - room : last > first ? last + room : first + 1]
}
set format y '%g'
set format x '%g'
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #56B4E9 #E69F00'
line_dashes = '1 13 12 14 15 16'
line_points = '7 9 5 13 11 15'
of_line(list, i) = word(list, (int(i) - 1) % 6 + 1)
entry_names = modes
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
has_band(i) = strstrt(bands, '"'.word(modes, i).'"') > 0
band_lines = ''
plain_lines = '' # the one on top last
do for [k = n_lines:1:-1] {
    i = on_top eq 'last' ? n_lines + 1 - k : k
    if (has_band(i)) { band_lines = band_lines.' '.i } else { plain_lines = plain_lines.' '.i }
}
do for [i = 1:n_lines] {
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.(marks eq '1' && !has_band(i) ? of_line(line_points, i) : '0')
    entry_lines = entry_lines.' '.(has_band(i) ? '0' : of_line(line_dashes, i))
    entry_boxes = entry_boxes.' '.(has_band(i) ? '1' : '0')
}
load share.'/legend.gp'
set datafile missing NaN
band_colour = '#d4d4d4'
do for [i = 1:n_lines] {
    if (has_band(i) && !is_text) { set object i fc rgb band_colour }
}
# --- what never came is named where it would be, at the upper edge ---
do for [k = 1:words(never_at) / 2] {
    set label 300 + k 'never: '.word(never_at, 2 * k) at first real(word(never_at, 2 * k - 1)), graph 1.0 - 0.045 * k right front
    if (is_log && real(word(never_at, 2 * k - 1)) < first * (last / first) ** 0.3) { set label 300 + k left }
}
line_of(i) = strcol(1) eq word(modes, int(i))
x_of(i) = line_of(i) ? $2 : NaN
y_of(i) = line_of(i) && is_shown($2, number(3)) ? number(3) : NaN
# Macros, which are replaced before a block is run. In letters a band is its two edges.
dotted_bands = band_lines eq '' ? '' : "for [i in band_lines] data using (x_of(i)):(line_of(i) ? number(3) : NaN) with points pt '.' title key_title(int(i)), \
    for [i in band_lines] data using (x_of(i)):(line_of(i) ? number(4) : NaN) with points pt '.' notitle,"
bands_first = band_lines eq '' ? '' : "for [i in band_lines] data using (x_of(i)):(line_of(i) ? number(3) : NaN):(line_of(i) ? number(4) : NaN) \
    with filledcurves fc rgb band_colour notitle,"
if (is_text) {
    unset grid
    letters = 'o x + = % &'
    set key samplen 0
    plot @dotted_bands \
        for [i in plain_lines] data using (x_of(i)):(y_of(i)) with points pt of_line(letters, i) title key_title(int(i))
    exit
}
# --- names at the last points ---
if (ends eq '1') {
    do for [i = 1:n_lines] {
        if (word(end_xs, i) ne 'nan') {
            end_x = real(word(end_xs, i))
            end_y = real(word(end_ys, i))
            is_right = is_log && end_x > first && log(end_x / first) > 0.8 * log(last / first)
            set label 400 + i word(modes, i) at first end_x, first end_y front point pt int(of_line(line_points, i)) ps 1.1 * dot \
                lc rgb of_line(line_colours, i) offset is_right ? 0 : 1, is_right ? 1.8 : 0.5 right
            if (!is_right) { set label 400 + i left }
        }
    }
}
# Marks of size 0 would be ones that some viewers of SVG refuse.
if (marks eq '1') {
    plot @bands_first \
        for [i in plain_lines] data using (x_of(i)):(y_of(i)) with linespoints lc rgb of_line(line_colours, i) lw 2.5 \
            dt int(of_line(line_dashes, i)) pt int(of_line(line_points, i)) ps 0.9 * dot notitle
} else {
    plot @bands_first \
        for [i in plain_lines] data using (x_of(i)):(y_of(i)) with lines lc rgb of_line(line_colours, i) lw 2.5 \
            dt int(of_line(line_dashes, i)) notitle
}
set output
