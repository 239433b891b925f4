package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/render"
)

const one = `{"event": "e", "resource": {"orch.resource.id": "r"}}`

// listOf is a list of events that differ in their names.
func listOf(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.Replace(one, `"e"`, fmt.Sprintf(`"e%d"`, i), 1)
	}
	return "\n [" + strings.Join(items, ",\n") + "] "
}

func TestAListBecomesEvents(t *testing.T) {
	t.Parallel()
	r := readRequest(t, []byte(pullRequest))
	delivery := uuid.MustParse("01890000-0000-5000-8000-000000000001")
	for _, n := range []int{0, 1, 2, render.MaxEvents} {
		e := render.New(render.Options{Vocabulary: vocabulary.Orch})
		first, err := e.Events(listOf(n), hook, r, r.Body(), delivery)
		require.NoError(t, err)
		require.Len(t, first, n)
		again, err := e.Events(listOf(n), hook, r, r.Body(), delivery)
		require.NoError(t, err)
		fresh, err := e.Events(listOf(n), hook, r, r.Body(), uuid.Nil)
		require.NoError(t, err)
		ids := map[string]bool{}
		for i := range first {
			require.Equal(t, fmt.Sprintf("e%d", i), first[i].GetEvent())
			require.Equal(t, first[i].GetId(), again[i].GetId(), "a duplicate delivery has the same ids")
			require.NotEqual(t, first[i].GetId(), fresh[i].GetId())
			require.Len(t, first[i].GetRelated(), 1, "the webhook")
			require.NotEmpty(t, first[i].GetPayload())
			ids[first[i].GetId()], ids[fresh[i].GetId()] = true, true
		}
		require.Len(t, ids, 2*n)
		if n > 0 {
			single, err := e.Events(one, hook, r, r.Body(), delivery)
			require.NoError(t, err)
			require.Equal(t, single[0].GetId(), first[0].GetId(), "the first event has the id of a lone one")
		}
	}
}

func TestListsThatAreNoEvents(t *testing.T) {
	t.Parallel()
	r := readRequest(t, []byte(pullRequest))
	withID := strings.Replace(one, "{", `{"id": "01890000-0000-7000-8000-000000000009", `, 1)
	for name, c := range map[string]struct{ text, want string }{
		"101":         {listOf(render.MaxEvents + 1), "it is a list of 101 events, and at most 100 are taken"},
		"10,000":      {listOf(10_000), "it is a list of 10000 events"},
		"a number":    {"[" + one + ", 1]", "event 2 of 2: rendered text is not an event: it must be a JSON object, not a number"},
		"a list":      {"[[" + one + "]]", "event 1 of 1: rendered text is not an event: it must be a JSON object, not a list"},
		"null":        {"[null]", "event 1 of 1: "},
		"no name":     {"[" + one + `, {"resource": {}}]`, "event 2 of 2: rendered text is not an event: event is missing"},
		"run state":   {`[{"event": "orch.flow-run.Completed", "resource": {"orch.resource.id": "r"}}]`, "event 1 of 1: "},
		"same id":     {"[" + withID + "," + one + "," + withID + "]", "events 1 and 3 of 3 have the same id"},
		"comma":       {"[" + one + ",]", "it is not JSON: line 1"},
		"cut":         {"[" + one, "it is not JSON: line 1"},
		"two lists":   {"[] []", "it is not JSON: line 1"},
		"list of two": {"[\n" + one + "\n" + one + "]", "it is not JSON: line 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newEngine(vocabulary.Orch).Events(c.text, hook, r, r.Body(), uuid.Nil)
			require.ErrorIs(t, err, render.ErrEvent)
			require.ErrorContains(t, err, c.want)
		})
	}
}
