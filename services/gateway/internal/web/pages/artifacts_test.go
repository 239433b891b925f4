package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`[{"a": 1, "b": "x"}, {"b": "y", "a": 2}]`: {"a|b", "1|x", "2|y"},
		`[{"a": 1}, {"c": true, "a": 3}, {}]`:      {"a|c", "1|", "3|true", "|"},
		`[{}, {"late": null}]`:                     {"late", "", ""},
		`[{}, {}]`:                                 nil,
		`[]`:                                       nil,
		`[1]`:                                      nil,
		`{"a": 1}`:                                 nil,
		`[{"a": 1`:                                 nil,
	} {
		require.Equal(t, want, linesOf(tableOf([]byte(raw))), raw)
	}
}

func TestTableOfBoundsRowsAndColumns(t *testing.T) {
	t.Parallel()
	got := tableOf([]byte("[" + strings.Repeat(`{"a": 1},`, 500) + `{"a": 2}]`))
	require.Len(t, got.Rows, 501)
	require.Equal(t, "… 1 more rows", got.Rows[500][0].Text)
	require.Nil(t, tableOf([]byte("["+strings.Repeat("{},", 500)+"{}]")))
	var members []string
	for i := range 50 {
		members = append(members, fmt.Sprintf(`"k%d": 1`, i))
	}
	require.Len(t, tableOf([]byte("[{"+strings.Join(members, ",")+"}]")).Columns, 40)
}

// linesOf joins the columns and the cells of each row; nil for no table.
func linesOf(t *table) []string {
	if t == nil {
		return nil
	}
	lines := []string{strings.Join(t.Columns, "|")}
	for _, row := range t.Rows {
		var texts []string
		for _, c := range row {
			texts = append(texts, c.Text)
		}
		lines = append(lines, strings.Join(texts, "|"))
	}
	return lines
}
