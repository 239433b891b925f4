package aggregate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t *testing.T, json string) value.Doc {
	t.Helper()
	var d bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(json), false, &d), json)
	return value.DocOf(d)
}

func compile(t *testing.T, stages string) (*Pipeline, error) {
	t.Helper()
	return Compile(parse(t, `{"p": `+stages+`}`).Get("p").Doc().Values())
}

// results runs stages over documents, as one extended JSON each. The part that a plan would do is not done.
func results(t *testing.T, stages string, docs ...string) ([]string, error) {
	t.Helper()
	// A stage that no query can take in is put first, so that all the others run here.
	p, err := compile(t, `[{"$project": {"nothing": 0}}, `+strings.TrimPrefix(stages, "["))
	require.NoError(t, err)
	var in Docs
	for _, d := range docs {
		in = append(in, parse(t, d))
	}
	out := []string{}
	for src := p.Run(&in); ; {
		d, ok, err := src.Next()
		if err != nil || !ok {
			return out, err
		}
		json, err := bson.MarshalExtJSON(bson.Raw(d), false, false)
		require.NoError(t, err)
		out = append(out, string(json))
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	docs := []string{`{"_id":1,"k":"a","n":3}`, `{"_id":2,"k":"b","n":1,"l":[7,8]}`, `{"_id":3,"k":"a","n":2,"l":[]}`, `{"_id":4,"n":null,"l":5}`}
	for stages, want := range map[string][]string{
		`[{"$match": {"k": "a"}}, {"$sort": {"n": 1}}]`:         {docs[2], docs[0]},
		`[{"$sort": {"_id": -1}}, {"$skip": 1}, {"$limit": 2}]`: {docs[2], docs[1]},
		`[{"$skip": 4}]`:                              {},
		`[{"$count": "all"}]`:                         {`{"all":4}`},
		`[{"$match": {"k": "z"}}, {"$count": "all"}]`: {},
		`[{"$limit": 1}, {"$project": {"k": 1}}]`:     {`{"_id":1,"k":"a"}`},
		`[{"$group": {"_id": "$k", "n": {"$sum": "$n"}}}, {"$sort": {"_id": 1}}]`: {
			`{"_id":null,"n":0}`, `{"_id":"a","n":5}`, `{"_id":"b","n":1}`,
		},
		`[{"$group": {"_id": null, "min": {"$min": "$n"}, "max": {"$max": "$n"}, "n": {"$count": {}}}}]`: {
			`{"_id":null,"min":1,"max":3,"n":4}`,
		},
	} {
		got, err := results(t, stages, docs...)
		require.NoError(t, err, stages)
		require.Equal(t, want, got, stages)
	}
}

// The leading stages of a pipeline are the query's, as far as the query's own order goes.
func TestLeadingStagesAreTheQuery(t *testing.T) {
	t.Parallel()
	for stages, want := range map[string]struct {
		left        int
		skip, limit int64
		count       string
	}{
		`[]`: {},
		`[{"$match": {"a": 1}}, {"$match": {"b": 1}}, {"$sort": {"a": 1}}, {"$skip": 2}, {"$skip": 3}, {"$limit": 9}, {"$limit": 4}]`: {skip: 5, limit: 4},
		`[{"$limit": 4}, {"$skip": 1}]`:                                       {left: 1, limit: 4},
		`[{"$skip": 1}, {"$match": {"a": 1}}]`:                                {left: 1, skip: 1},
		`[{"$sort": {"a": 1}}, {"$sort": {"b": 1}}]`:                          {left: 1},
		`[{"$project": {"a": 0}}, {"$match": {"a": 1}}]`:                      {left: 2},
		`[{"$match": {"a": 1}}, {"$count": "n"}]`:                             {left: 1, count: "n"},
		`[{"$match": {"a": 1}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}]`:    {left: 1, count: "n"},
		`[{"$match": {"a": 1}}, {"$group": {"_id": "$a", "n": {"$sum": 1}}}]`: {left: 1},
		`[{"$match": {"a": 1}}, {"$group": {"_id": 1, "n": {"$sum": 2}}}]`:    {left: 1},
		`[{"$group": {"_id": 1, "n": {"$sum": 1}}}, {"$match": {"n": 1}}]`:    {left: 2},
	} {
		t.Run(stages, func(t *testing.T) {
			p, err := compile(t, stages)
			require.NoError(t, err, stages)
			require.Len(t, p.stages, want.left, stages)
			require.Equal(t, want.skip, p.Query.Skip, stages)
			require.Equal(t, want.limit, p.Query.Limit, stages)
			require.Equal(t, want.count, p.CountField, stages)
		})
	}
}

func TestPipelinesThatAreRefused(t *testing.T) {
	t.Parallel()
	for stages, code := range map[string]int32{
		`[{"$lookup": {}}]`:   mongoerr.NotImplementedKind.Code,
		`[{"$unwind": "$a"}]`: mongoerr.NotImplementedKind.Code,
		`[{"$group": {"_id": 1, "n": {"$stdDevPop": 1}}}]`: mongoerr.NotImplementedKind.Code,
		`[{}]`:                             40323,
		`[{"$match": {}, "$limit": 1}]`:    40323,
		`[{"$match": 1}]`:                  15959,
		`[{"$sort": {}}]`:                  15976,
		`[{"$limit": 0}]`:                  5107201,
		`[{"$skip": -1}]`:                  5107201,
		`[{"$group": {"n": {"$sum": 1}}}]`: 15955,
		`[{"$group": {"_id": 1, "a.b": {"$sum": 1}}}]`: 40234,
		`[{"$count": ""}]`:   40157,
		`[{"$count": "$n"}]`: 40157,
	} {
		_, err := compile(t, stages)
		var refused *mongoerr.Error
		require.ErrorAs(t, err, &refused, stages)
		require.Equal(t, code, refused.Code, "%s: %v", stages, err)
	}
}

// endless gives one document for ever.
type endless struct{ d value.Doc }

func (e *endless) Next() (value.Doc, bool, error) { return e.d, true, nil }

// A stage that keeps what it reads gives up before the memory does.
func TestBlockingStagesAreBounded(t *testing.T) {
	t.Parallel()
	d := value.NewBuilder().Add("a", value.OfString(strings.Repeat("x", 1<<20))).Done()
	for _, stages := range []string{
		`[{"$project": {"b": 0}}, {"$sort": {"a": 1}}]`,
	} {
		p, err := compile(t, stages)
		require.NoError(t, err)
		_, _, err = p.Run(&endless{d}).Next()
		require.True(t, mongoerr.Is(err, mongoerr.SortMemory), "%s: %v", stages, err)
	}
}
