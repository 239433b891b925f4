package traffic

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// madeUp is a name that the server gives to a run that came without one: two words, as in "solid-ostrich".
	madeUp = regexp.MustCompile(`^[a-z]+-[a-z]+$`)
)

// identities are what the ids of a recording, and the names that its server made up, are in this run. An id that a client
// made is the same in both.
type identities struct {
	ours map[string]string
}

// known matches what may have an entry: an id, or a name within a text.
var known = regexp.MustCompile(uuid.String() + `|\b[a-z]+-[a-z]+\b`)

func newIdentities() *identities { return &identities{ours: map[string]string{}} }

// learn remembers what a recorded id or name is in this run, and tells whether that agrees with what is known of it.
func (i *identities) learn(recorded, ours string) bool {
	if known, ok := i.ours[recorded]; ok {
		return known == ours
	}
	i.ours[recorded] = ours
	return true
}

// learned are those that are known.
func (i *identities) learned() map[string]string { return maps.Clone(i.ours) }

// restore forgets what was learned since.
func (i *identities) restore(known map[string]string) { i.ours = known }

// translate replaces the recorded ids and names in a text by those of this run; unknown ones stay.
func (i *identities) translate(text string) string {
	return known.ReplaceAllStringFunc(text, func(id string) string {
		if ours, ok := i.ours[id]; ok {
			return ours
		}
		return id
	})
}

// anonymous writes a path or text without what belongs to one run: {id} for ids.
func anonymous(text string) string { return uuid.ReplaceAllString(text, "{id}") }

// align gives for each recorded element the index of ours that is compared with it: the one that stands for its id, else
// the next one that stands for none.
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
