# SPDX-License-Identifier: Apache-2.0
# legend.gp - a legend in rows above the plot, broken where the picture ends, and the top margin below it.
# gnuplot's own key overlaps its neighbours or drops entries when names are long. In letters (format dumb) only that key knows
# which letter a line is drawn with: there the chart gives its lines the titles of key_title(i), which are empty elsewhere.
#
# Reads lists of equal length: entry_names (quoted words), entry_colours, entry_points (0: no point, below 0: hollow,
# 1000 + n: a small one),
# entry_lines (0: none, else a dash type), entry_boxes (0: none, 1: a filled box, 1 + n: one hatched by pattern n, in the
# colour of entry_hatches). Not a chart by itself.

is_text = format eq 'dumb'
key_title(i) = is_text ? word(entry_names, i) : ''
if (is_text) { set key outside top left horizontal }

legend_left = 0.02
legend_right = 0.985
letter = 0.0076 * text_scale # width of a letter, as a part of the picture's
sample = 0.03   # width of a sample with its gap
place_x = legend_left
place_y = 0.857
do for [i = 1:(is_text ? 0 : words(entry_names))] {
    needed = sample + letter * strlen(word(entry_names, i))
    if (place_x > legend_left && place_x + needed > legend_right) {
        place_x = legend_left
        place_y = place_y - 0.038
    }
    ink = word(entry_colours, i)
    kind = int(word(entry_lines, i))
    mark = int(word(entry_points, i))
    if (int(word(entry_boxes, i))) {
        set object i rectangle from screen place_x + 0.002, screen place_y - 0.01 to screen place_x + 0.022, \
            screen place_y + 0.01 fc rgb ink fs solid 1 noborder
    }
    if (int(word(entry_boxes, i)) > 1) {
        set object 50 + i rectangle from screen place_x + 0.002, screen place_y - 0.01 to screen place_x + 0.022, \
            screen place_y + 0.01 fc rgb word(entry_hatches, i) fs transparent pattern int(word(entry_boxes, i)) - 1 noborder
    }
    if (kind) {
        set arrow i from screen place_x, screen place_y to screen place_x + 0.024, screen place_y nohead \
            lw (kind == 10 ? 2 : 2.5) lc rgb ink dt kind
    }
    if (mark) {
        set label 100 + i '' at screen place_x + 0.012, screen place_y point pt abs(mark) % 1000 \
            ps (mark > 1000 ? 0.35 : 0.85) * dot lc rgb ink
    }
    if (mark < 0) {
        set label 150 + i '' at screen place_x + 0.012, screen place_y point pt abs(mark) ps 0.45 * dot lc rgb 'white'
    }
    set label 200 + i word(entry_names, i) at screen place_x + sample, screen place_y left
    place_x = place_x + needed + 0.028
}
set tmargin at screen is_text ? 0.9 : place_y - 0.055
