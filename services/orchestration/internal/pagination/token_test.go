package pagination

import (
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// positionOf returns the position of values.
func positionOf(t require.TestingT, values ...any) query.Position {
	var sort, doc bson.D
	for i, v := range values {
		key := string(rune('a' + i))
		sort, doc = append(sort, bson.E{Key: key, Value: 1}), append(doc, bson.E{Key: key, Value: v})
	}
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	return query.PositionOf(sort, raw)
}

func someID() bson.Binary { return bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")} }

func TestTokensAreReadAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.Just[any](nil), rapid.Map(rapid.Int64(), func(n int64) any { return n }), rapid.Map(rapid.Int32(), func(n int32) any { return n }),
			rapid.Map(rapid.Float64(), func(n float64) any { return n }), rapid.Map(rapid.StringN(0, 100, maxText-5), func(s string) any { return s }))
		want := token{after: positionOf(t, append(rapid.SliceOfN(value, 0, maxValues-1).Draw(t, "values"), any(someID()))...)}
		want.page = rapid.Uint64().Draw(t, "page")
		copy(want.binding.filter[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "digest"))
		text := want.String()
		got, err := parseToken(text)
		require.NoError(t, err)
		require.Len(t, got.after, len(want.after))
		require.True(t, got.matches(want.after))
		require.Equal(t, want.binding, got.binding)
		require.Equal(t, want.page, got.page)
		require.Equal(t, text, got.String())
		require.LessOrEqual(t, len(text), 2048*maxValues)

		// A token with any change is malformed.
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		other := rapid.SampledFrom([]byte("ABCz09-_=é")).Draw(t, "other")
		if changed := text[:at] + string(rune(other)) + text[at+1:]; changed != text {
			_, err = parseToken(changed)
			require.ErrorIs(t, err, errToken)
		}
		_, err = parseToken(text[:at])
		require.ErrorIs(t, err, errToken)
	})
}

func TestTokensOfLongTextsAreShort(t *testing.T) {
	t.Parallel()
	position := positionOf(t, strings.Repeat("n", 1<<20), int64(1), someID())
	text := token{after: position}.String()
	require.Less(t, len(text), 200)
	got, err := parseToken(text)
	require.NoError(t, err)
	require.True(t, got.matches(position))
	require.False(t, got.matches(positionOf(t, strings.Repeat("m", 1<<20), int64(1), someID())))
	require.False(t, got.matches(nil))
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	raw := func(kind bson.Type, value string) token {
		return token{after: query.Position{{Type: kind, Value: []byte(value)}, positionOf(t, someID())[0]}}
	}
	for name, text := range map[string]string{
		"empty":                "",
		"not base64":           "?",
		"padded":               token{after: positionOf(t, someID())}.String() + "=",
		"only a checksum":      "AAAAAA",
		"no values":            token{}.String(),
		"too many values":      token{after: positionOf(t, 1, 2, 3, 4, 5, 6, 7, 8, someID())}.String(),
		"an id that is null":   token{after: positionOf(t, 1, nil)}.String(),
		"a document":           token{after: positionOf(t, bson.D{{Key: "$gt", Value: ""}}, someID())}.String(),
		"an array":             token{after: positionOf(t, bson.A{1}, someID())}.String(),
		"a regular expression": token{after: positionOf(t, bson.Regex{Pattern: "a"}, someID())}.String(),
		"a short number":       raw(bson.TypeInt64, "1").String(),
		"text without an end":  raw(bson.TypeString, "\x02\x00\x00\x00ab").String(),
		"text of two lengths":  raw(bson.TypeString, "\x02\x00\x00\x00a\x00b").String(),
		"text in no encoding":  token{after: positionOf(t, "\xff", someID())}.String(),
		"a digest of 3 bytes":  raw(longText, "abc").String(),
		"a digest as the id":   token{after: query.Position{{Type: longText, Value: make([]byte, 32)}}}.String(),
	} {
		_, err := parseToken(text)
		require.ErrorIs(t, err, errToken, name)
	}
}

func TestBinding(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	sort := bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}
	base := func() *orchv1.FlowQuery {
		return &orchv1.FlowQuery{Flows: &orchv1.FlowFilter{Name: &orchv1.NameFilter{Like_: proto.String("a")}}}
	}
	bindingOf := func(m *orchv1.FlowQuery) binding {
		b, err := bind(ws, m, []proto.Message{m}, sort)
		require.NoError(t, err)
		return b
	}
	want := bindingOf(base())
	paged := base()
	paged.Offset, paged.Limit, paged.PageToken, paged.Sort = 3, &orchv1.PageLimit{Value: 3}, "x", orchv1.FlowSort_FLOW_SORT_NAME_ASC
	require.Equal(t, want, bindingOf(paged), "the place of the page is not part of the list")
	other := base()
	other.Flows.Name.Like_ = proto.String("b")
	require.NotEqual(t, want.filter, bindingOf(other).filter)
	require.Equal(t, want.operation, bindingOf(other).operation)
	require.NotEqual(t, want.filter, bindingOf(&orchv1.FlowQuery{}).filter)
	b, err := bind(uuid.New(), base(), []proto.Message{base()}, sort)
	require.NoError(t, err)
	require.NotEqual(t, want.operation, b.operation, "another workspace")
	b, err = bind(ws, &orchv1.ListFlowsRequest{}, []proto.Message{base()}, sort)
	require.NoError(t, err)
	require.NotEqual(t, want.operation, b.operation, "another operation")
	b, err = bind(ws, base(), []proto.Message{base()}, bson.D{{Key: "name", Value: -1}, {Key: "_id", Value: -1}})
	require.NoError(t, err)
	require.NotEqual(t, want.sort, b.sort)
	require.Equal(t, want.filter, b.filter)

	// The query in a request loses its place too, and its path is part of the list.
	request := func(pool string, offset int64) digest {
		b, err := bind(ws, &orchv1.WorkerQuery{}, []proto.Message{
			&orchv1.ReadWorkersRequest{WorkPoolName: pool, Query: &orchv1.WorkerQuery{Offset: offset}}, (*orchv1.WorkerQuery)(nil), nil,
		}, sort)
		require.NoError(t, err)
		return b.filter
	}
	require.Equal(t, request("a", 0), request("a", 5))
	require.NotEqual(t, request("a", 0), request("b", 0))
}

// FuzzParseToken checks that no text makes the server fail, and that accepted tokens have comparable values.
func FuzzParseToken(f *testing.F) {
	f.Add(token{after: positionOf(f, "name", someID())}.String())
	f.Add(token{after: positionOf(f, nil, math.Inf(1), someID()), page: 7}.String())
	f.Add(token{after: positionOf(f, strings.Repeat("n", maxText), int64(1), someID())}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseToken(text)
		if err != nil {
			require.ErrorIs(t, err, errToken)
			return
		}
		require.NotEmpty(t, got.after)
		for _, v := range got.after {
			require.True(t, sortable(v.Type, v.Value))
			require.NotContains(t, []bson.Type{bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeRegex, bson.TypeJavaScript}, v.Type)
		}
		again, err := parseToken(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
