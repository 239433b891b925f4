package traffic

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// madeUp matches the generated name of a run without a name: two words, as in "solid-ostrich".
	madeUp = regexp.MustCompile(`^[a-z]+-[a-z]+$`)
)

// identities map the ids, the generated names and the tokens of a recording to those of this run. Ids that a client chose are equal
// in both.
type identities struct {
	ours map[string]string
	// tokens have no form by which they could be found in a text.
	tokens map[string]string
}

// known matches possible entries: an id, or a name within a text.
var known = regexp.MustCompile(uuid.String() + `|\b[a-z]+-[a-z]+\b`)

func newIdentities() *identities {
	return &identities{ours: map[string]string{}, tokens: map[string]string{}}
}

// learn maps a recorded id or name to that of this run, and reports whether that agrees with an existing entry.
func (i *identities) learn(recorded, ours string) bool {
	if known, ok := i.ours[recorded]; ok {
		return known == ours
	}
	i.ours[recorded] = ours
	return true
}

// learned returns the current entries.
func (i *identities) learned() map[string]string { return maps.Clone(i.ours) }

// restore removes the entries learned since.
func (i *identities) restore(known map[string]string) { i.ours = known }

// translate replaces the recorded ids and names in a text by those of this run; unknown ones are unchanged.
func (i *identities) translate(text string) string {
	for recorded, ours := range i.tokens {
		text = strings.ReplaceAll(text, recorded, ours)
	}
	return known.ReplaceAllStringFunc(text, func(id string) string {
		if ours, ok := i.ours[id]; ok {
			return ours
		}
		return id
	})
}

// anonymous replaces the values of one run in a path or text: {id} for ids.
func anonymous(text string) string { return uuid.ReplaceAllString(text, "{id}") }

// align returns for each recorded element the index of the new element to compare: the one that stands for its id, else
// the next unassigned one.
func (i *identities) align(recorded, ours []any) []int {
	out := make([]int, len(recorded))
	taken := make([]bool, len(ours))
	for n, one := range recorded {
		out[n] = -1
		id := idOf(one)
		if id == "" {
			continue
		}
		if known, ok := i.ours[id]; ok {
			out[n] = slices.IndexFunc(ours, func(other any) bool { return idOf(other) == known })
		}
		if out[n] >= 0 {
			taken[out[n]] = true
		}
	}
	for n := range recorded {
		if out[n] >= 0 {
			continue
		}
		if out[n] = slices.Index(taken, false); out[n] >= 0 {
			taken[out[n]] = true
		}
	}
	return out
}

func idOf(value any) string {
	object, _ := value.(map[string]any)
	id, _ := object["id"].(string)
	return strings.ToLower(id)
}
