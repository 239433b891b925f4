package query

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// epoch makes the time window of the filters in these tests end at 0 and start at a round number.
var epoch = EventOptions{Now: time.Unix(0, 0), Vocabulary: vocabulary.Orch}

const window = `"occurred":{"$gte":{"$numberLong":"-15552000000000"},"$lte":{"$numberLong":"0"}}`

func TestCompileEvents(t *testing.T) {
	t.Parallel()
	// The shared key of that id in this workspace: it is deterministic.
	const shared = `{"$binary":{"base64":"DjWlOHEwTbWWK+3VViRi","subType":"00"}}`
	elem := func(k, v string) string { return `{"$elemMatch":{"k":{"$eq":"` + k + `"},"v":` + v + `}}` }
	for _, c := range []struct{ name, filter, want string }{
		{"nothing", `{}`, ``},
		{"empty lists say nothing", `{"event": {"name": [], "prefix": []}, "resource": {"id": []}, "id": {"id": []}, "related": [], "text": {"query": " "}}`, ``},
		{"names", `{"event": {"name": ["a"], "exclude_name": ["b"]}}`, `"event":{"$in":["a"]},"$and":[{"event":{"$nin":["b"]}}]`},
		{
			"prefixes", `{"event": {"prefix": ["a.", "b*"], "exclude_prefix": ["a.b"]}}`,
			`"$or":[{"event":{"$gte":"a.","$lt":"a/"}},{"event":{"$gte":"b*","$lt":"b+"}}],"event":{"$not":{"$gte":"a.b","$lt":"a.c"}}`,
		},
		{
			"resource ids", `{"resource": {"id": ["r"], "id_prefix": ["p."]}}`,
			`"resource_id":{"$in":["r"]},"$and":[{"resource_id":{"$gte":"p.","$lt":"p/"}}]`,
		},
		{"resource label", `{"resource": {"labels": {"$where": "1"}}}`, `"resource":` + elem("$where", `{"$in":["1"]}`)},
		{
			"resource label: one of several", `{"resource": {"labels": {"l": ["a", "b*", "!c", "!d*", "*e?", "x"]}}}`,
			`"resource":{"$elemMatch":{"k":{"$eq":"l"},"$or":[{"v":{"$in":["a","x"]}},{"v":{"$gte":"b","$lt":"c"}},{"v":{"$ne":"c"}},` +
				`{"v":{"$not":{"$gte":"d","$lt":"e"}}},{"v":{"$regex":"\\A[\\s\\S]*e[\\s\\S]\\z"}}]}}`,
		},
		{"resource label without values", `{"resource": {"labels": {"l": []}}}`, `"resource":{"$in":[]}`},
		{"resource id as label", `{"resource": {"labels": {"orch.resource.id": "orch.flow.*"}}}`, `"resource_id":{"$gte":"orch.flow.","$lt":"orch.flow/"}`},
		{
			"related, all of one", `{"related": {"id": ["i"], "role": ["flow"], "labels": {"l": "v"}}}`,
			`"resource_ids":{"$in":["i"]},"related":{"$elemMatch":{"labels":` + elem("orch.resource.id", `{"$in":["i"]}`) +
				`,"$and":[{"labels":` + elem("orch.resource.role", `{"$in":["flow"]}`) + `},{"labels":` + elem("l", `{"$in":["v"]}`) + `}]}}`,
		},
		{
			"related, several", `{"related": [{"role": ["a"]}, {"role": ["b"]}]}`,
			`"related":{"$elemMatch":{"labels":` + elem("orch.resource.role", `{"$in":["a"]}`) + `}},"$and":[{"related":{"$elemMatch":{"labels":` +
				elem("orch.resource.role", `{"$in":["b"]}`) + `}}}]`,
		},
		{
			"related in roles", `{"related": {"resources_in_roles": [["i", "flow"]]}}`,
			`"resource_ids":{"$in":["i"]},"related":{"$elemMatch":{"labels":` + elem("orch.resource.id", `{"$eq":"i"}`) +
				`,"$and":[{"labels":` + elem("orch.resource.role", `{"$eq":"flow"}`) + `}]}}`,
		},
		{
			"any resource", `{"any_resource": {"id_prefix": ["p"]}}`,
			`"resource_ids":{"$elemMatch":{"$gte":"p","$lt":"q"}}`,
		},
		{"id", `{"id": {"id": ["` + someID + `"]}}`, `"_id":{"$in":[` + id + `,` + shared + `]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := CompileEvents(parse(t, &orchv1.EventFilter{}, c.filter), epoch)
			require.NoError(t, err)
			want := "{" + window
			if c.want != "" {
				want += "," + c.want
			}
			require.Equal(t, want+"}", canonical(t, d))
		})
	}
}

func TestCompileEventsWindow(t *testing.T) {
	t.Parallel()
	d, err := CompileEvents(nil, epoch)
	require.NoError(t, err)
	require.Equal(t, "{"+window+"}", canonical(t, d))

	d, err = CompileEvents(parse(t, &orchv1.EventFilter{},
		`{"occurred": {"since": "1970-01-01T00:00:00.000001Z", "until": "1970-01-01T00:00:01Z"}}`), epoch)
	require.NoError(t, err)
	require.Equal(t, `{"occurred":{"$gte":{"$numberLong":"1"},"$lte":{"$numberLong":"1000000"}}}`, canonical(t, d))

	_, err = CompileEvents(&orchv1.EventFilter{Occurred: &orchv1.EventOccurredFilter{Since: &timestamppb.Timestamp{Nanos: -1}}}, epoch)
	require.ErrorIs(t, err, ErrOperand)
	long := &orchv1.EventFilter{Text: &orchv1.EventTextFilter{Query: strings.Repeat("a", MaxPattern+1)}}
	_, err = CompileEvents(long, epoch)
	require.ErrorIs(t, err, ErrOperand)
}
