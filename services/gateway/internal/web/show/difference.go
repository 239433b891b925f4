package show

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/orch-project/orch/pkg/jsontree"
)

// Difference is a value that differs between two JSON texts. An absent value is "".
type Difference struct {
	// Path is a JSON path such as "$.payload.commits[0].id".
	Path          string
	Before, After string
}

// maxDifferences bounds Differences.
const maxDifferences = 20

// Differences compares two JSON texts. It leaves out what is below the ignored paths, and returns at most 20 differences.
// Texts that are not JSON are compared as strings.
func Differences(before, after []byte, ignored ...string) []Difference {
	c := comparison{ignored: ignored}
	limits := jsontree.EventLimits()
	a, errA := limits.Parse(string(before))
	b, errB := limits.Parse(string(after))
	if errA != nil || errB != nil {
		if string(before) == string(after) {
			return nil
		}
		return []Difference{{"$", Line(string(before), 200), Line(string(after), 200)}}
	}
	c.compare("$", a, b)
	return c.found
}

type comparison struct {
	ignored []string
	found   []Difference
}

func (c *comparison) compare(path string, a, b jsontree.Value) {
	if len(c.found) >= maxDifferences || slices.Contains(c.ignored, path) {
		return
	}
	switch a := a.(type) {
	case *jsontree.Object:
		if b, ok := b.(*jsontree.Object); ok {
			c.objects(path, a, b)
			return
		}
	case jsontree.List:
		if b, ok := b.(jsontree.List); ok {
			c.lists(path, a, b)
			return
		}
	}
	if !jsontree.Equal(a, b) {
		c.add(path, word(a), word(b))
	}
}

func (c *comparison) objects(path string, a, b *jsontree.Object) {
	for _, m := range a.Members() {
		if other, ok := b.Get(m.Key); ok {
			c.compare(member(path, m.Key), m.Value, other)
		} else {
			c.add(member(path, m.Key), word(m.Value), "")
		}
	}
	for _, m := range b.Members() {
		if _, ok := a.Get(m.Key); !ok {
			c.add(member(path, m.Key), "", word(m.Value))
		}
	}
}

func (c *comparison) lists(path string, a, b jsontree.List) {
	for i := range max(len(a), len(b)) {
		item := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(a):
			c.add(item, "", word(b[i]))
		case i >= len(b):
			c.add(item, word(a[i]), "")
		default:
			c.compare(item, a[i], b[i])
		}
	}
}

func (c *comparison) add(path, before, after string) {
	if len(c.found) < maxDifferences && !slices.Contains(c.ignored, path) {
		c.found = append(c.found, Difference{path, before, after})
	}
}

func word(v jsontree.Value) string { return Middle(Visible(string(jsontree.Text(v))), 200) }

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func member(path, key string) string {
	if plainKey.MatchString(key) {
		return path + "." + key
	}
	return path + "[" + strconv.Quote(key) + "]"
}
