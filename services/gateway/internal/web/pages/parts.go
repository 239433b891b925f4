package pages

import (
	"maps"
	"net/url"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The parts of pages that show one kind of object as a table, or one object with its properties. parts/table.html and
// parts/pairs.html print them.

// cell is text or markup in a table or a list of properties.
type cell struct {
	Text   string
	Markup markup.Markup
	// Number aligns the cell to the right.
	Number bool
	// Label is the column's title, for narrow windows.
	Label   string
	Buttons []button
}

func text(s string) cell          { return cell{Text: show.Line(s, 120)} }
func mark(m markup.Markup) cell   { return cell{Markup: m} }
func count(n int64) cell          { return cell{Text: show.Count(n), Number: true} }
func link(to, title string) cell  { return cell{Markup: show.Link(to, title)} }
func optionalText(s *string) cell { return optional(s, func() cell { return text(*s) }) }
func optional[T any](value *T, some func() cell) cell {
	if value == nil {
		return cell{}
	}
	return some()
}

// yes is a word for a flag.
func yes(flag bool, word, otherwise string) cell {
	if flag {
		return text(word)
	}
	return text(otherwise)
}

func timeCell(r *page.Request, t *timestamppb.Timestamp) cell { return mark(clockOf(r).Time(t)) }

// table is a table of objects.
type table struct {
	Columns []string
	Rows    [][]cell
	// Empty is shown instead of no rows.
	Empty string
	// Older and Later lead to the rest of a list; a list has one of them at most.
	Older, Later string
}

// add appends a row and labels its cells.
func (t *table) add(cells ...cell) {
	for i := range cells {
		cells[i].Label = t.Columns[i]
	}
	t.Rows = append(t.Rows, cells)
}

// head is the title of a column. It is aligned as the cells below it.
type head struct {
	Title  string
	Number bool
}

// Heads returns the titles of the columns.
func (t table) Heads() []head {
	heads := make([]head, len(t.Columns))
	for i, title := range t.Columns {
		heads[i] = head{title, slices.ContainsFunc(t.Rows, func(row []cell) bool { return i < len(row) && row[i].Number })}
	}
	return heads
}

// pair is a property of an object.
type pair struct {
	Name  string
	Value cell
}

// pairs drops properties without a value.
func pairs(all ...pair) []pair {
	var some []pair
	for _, p := range all {
		if p.Value.Text != "" || !p.Value.Markup.Empty() {
			some = append(some, p)
		}
	}
	return some
}

// panel is a part of a detail page: a table, or markup.
type panel struct {
	Title string
	Table *table
	Body  markup.Markup
	// Command is a shell command to copy.
	Command string
	// Problem replaces a panel whose call failed.
	Problem string
	// More leads to the whole of a cut list.
	More, MoreTitle string
}

// button is a form with one button.
type button struct {
	Action, Title, Class string
	Fields               []hiddenField
}

// tab leads to a part of an object's pages.
type tab struct {
	Title, Path string
	Current     bool
}

// listView is the data of a page with one table.
type listView struct {
	Title, Intro string
	Search       bool
	Q, Path      string
	Table        table
	Links, Tabs  []tab
	Problems     []string
	Forms        []form
}

// detailView is the data of a page of one object.
type detailView struct {
	Kind, Title string
	Badge       markup.Markup
	ID          markup.Markup
	Buttons     []button
	Links, Tabs []tab
	Forms       []form
	Pairs       []pair
	Panels      []panel
	Problems    []string
	Description markup.Markup
}

// confirmView is the data of a page that confirms an action.
type confirmView struct {
	Title, Text, Button string
	Items               []string
	Action, Path, Back  string
	Fields              []hiddenField
	Checks              []field
}

// confirm asks before an action. The form posts to this page again, with the field confirm and the given fields.
func confirm(r *page.Request, v confirmView) page.View {
	v.Path = r.Here()
	v.Fields = append(v.Fields, hiddenField{"confirm", "yes"})
	if v.Back == "" {
		v.Back = r.Here()
	}
	return page.View{Title: v.Title, Template: "confirm.html", Data: v}
}

// SendAgain asks before a form that has expired is sent again with its fields, except the old token.
func SendAgain(r *page.Request, fields url.Values, token string) page.View {
	v := confirmView{
		Title: "Send the form again?", Text: "The page with this form is older than your sign-in. Nothing was done yet. Everything that you typed is still here.",
		Button: "Send the form", Action: fields.Get("action"), Path: r.Path(), Back: r.Path(),
	}
	if query := r.HTTP.URL.RawQuery; query != "" {
		v.Path += "?" + query
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == "action" || name == token {
			continue
		}
		for _, value := range fields[name] {
			v.Fields = append(v.Fields, hiddenField{name, value})
		}
	}
	return page.View{Title: v.Title, Template: "confirm.html", Data: v}
}

// confirmed reports whether the form comes from a confirmation.
func confirmed(r *page.Request) bool { return r.Field("confirm") == "yes" }
