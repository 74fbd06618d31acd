# SPDX-License-Identifier: Apache-2.0
# legend.gp - a legend in rows above the plot, broken where the picture ends, and the top margin below it.
# gnuplot's own key overlaps its neighbours or drops entries when names are long. In letters (format dumb): rows of a letter and
# its line's name, of a chart that lists them as entry_letters. Of others only gnuplot's key knows which letter
# a line is drawn with: there the chart gives its lines the titles of key_title(i), which are empty elsewhere.
#
# Reads lists of equal length: entry_names (quoted words), entry_colours, entry_points (0: no point, below 0: hollow,
# 1000 + n: a small one),
# entry_lines (0: none, else a dash type), entry_boxes (0: none, 1: a filled box, 1 + n: one hatched by pattern n, in the
# colour of entry_hatches). May be missing: entry_widths of the lines, entry_sizes of the points. Not a chart by itself.

is_text = format eq 'dumb'
key_title(i) = is_text ? word(entry_names, i) : ''
in_rows = is_text && exists("entry_letters")
if (is_text && !in_rows) { set key outside top left horizontal }
letter_rows = 0
if (in_rows) {
    row = ''
    do for [i = 1:words(entry_names)] {
        entry = word(entry_letters, i).' '.word(entry_names, i)
        if (row ne '' && strlen(row) + 4 + strlen(entry) > text_columns - 4) {
            set label 200 + letter_rows row at character 2, character text_rows - 4 - letter_rows left
            letter_rows = letter_rows + 1
            row = ''
        }
        row = row eq '' ? entry : row.'    '.entry
    }
    set label 200 + letter_rows row at character 2, character text_rows - 4 - letter_rows left
    set label 1 at character 2, character text_rows - 2
    set label 2 at character 2, character text_rows - 3
}

legend_left = 0.02
legend_right = 0.985
letter = 0.0076 * text_scale # width of a letter, as a part of the picture's
# A sample is as long as its pattern of dashes needs; with the gap behind it:
sample_line = exists("slide") ? 0.042 : 0.024
sample = sample_line + (exists("entry_widths") ? 0.01 : 0.006)
middle = sample_line / 2
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
        set object i rectangle from screen place_x + middle - 0.01, screen place_y - 0.01 to screen place_x + middle + 0.01, \
            screen place_y + 0.01 fc rgb ink fs solid 1 noborder
    }
    if (int(word(entry_boxes, i)) > 1) {
        set object 50 + i rectangle from screen place_x + middle - 0.01, screen place_y - 0.01 to screen place_x + middle + 0.01, \
            screen place_y + 0.01 fc rgb word(entry_hatches, i) fs transparent pattern int(word(entry_boxes, i)) - 1 noborder
    }
    if (kind) {
        set arrow i from screen place_x, screen place_y to screen place_x + sample_line, screen place_y nohead \
            lw (exists("entry_widths") ? real(word(entry_widths, i)) : kind == 10 ? 2 : 2.5) lc rgb ink dt kind
    }
    if (mark) {
        set label 100 + i '' at screen place_x + middle, screen place_y point pt abs(mark) % 1000 \
            ps (exists("entry_sizes") ? real(word(entry_sizes, i)) : mark > 1000 ? 0.35 : 0.85) * dot lc rgb ink
    }
    if (mark < 0) {
        set label 150 + i '' at screen place_x + middle, screen place_y point pt abs(mark) ps 0.45 * dot lc rgb 'white'
    }
    set label 200 + i word(entry_names, i) at screen place_x + sample, screen place_y left
    place_x = place_x + needed + 0.028
}
set tmargin at screen in_rows ? (text_rows - 6.0 - letter_rows) / text_rows : is_text ? 0.9 : place_y - 0.055
