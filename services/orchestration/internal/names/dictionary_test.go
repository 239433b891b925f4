package names

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func opened(tb testing.TB) (*mongo.Database, *Dictionary) {
	tb.Helper()
	db := mongotest.Open(tb, embeddedmongo.Options{NoSync: true}).Connect()
	d := New(db)
	require.NoError(tb, d.Ensure(tb.Context()))
	d.Complete()
	return db, d
}

// pattern is the condition of a search.
func pattern(text string) bson.D {
	parts := strings.Split(text, "%")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return bson.D{{Key: "$regex", Value: strings.Join(parts, `[\s\S]*`)}, {Key: "$options", Value: "i"}}
}

// A search finds exactly the names that contain its text, whatever their letters, in its workspace and kind.
func TestSearchesFindWhatNamesContain(t *testing.T) {
	t.Parallel()
	_, d := opened(t)
	part := rapid.SampledFrom([]string{"amber", "AMBER", "fox", "-", "Kürbis", "ſtreet", "\u212aelvin", "100%", "a.b", "xyz", " "})
	name := rapid.Map(rapid.SliceOfN(part, 1, 4), func(parts []string) string { return strings.Join(parts, "") })
	rapid.Check(t, func(r *rapid.T) {
		ws := uuid.New()
		list := rapid.SliceOfN(name, 0, 20).Draw(r, "names")
		require.NoError(r, d.Add(t.Context(), ws, query.FlowRun, list...))
		require.NoError(r, d.Add(t.Context(), ws, query.TaskRun, "amber fox of another kind"))
		require.NoError(r, d.Add(t.Context(), uuid.New(), query.FlowRun, "amber fox of another workspace"))
		text := rapid.OneOf(name, rapid.Just("mber%fo"), rapid.Just("elvin"), rapid.Just("street"), rapid.Just("nothing")).Draw(r, "text")
		found, ok, err := d.Search(t.Context(), ws, query.FlowRun, text, pattern(text))
		require.NoError(r, err)
		if !ok {
			return
		}
		want := []string{}
		matching := regexp.MustCompile("(?i)" + pattern(text)[0].Value.(string))
		for _, name := range list {
			if matching.MatchString(name) && !slices.Contains(want, name) {
				want = append(want, name)
			}
		}
		require.ElementsMatch(r, want, found, "%q in %q", text, list)
	})
}

// The dictionary does not answer a search for a short text, one of a scope with too many names, and any before it is complete.
func TestSearchesThatTheDictionaryDoesNotAnswer(t *testing.T) {
	t.Parallel()
	db, d := opened(t)
	d.most = 10
	ws := uuid.New()
	answers := func(d *Dictionary, text string) bool {
		_, ok, err := d.Search(t.Context(), ws, query.FlowRun, text, pattern(text))
		require.NoError(t, err)
		return ok
	}
	require.NoError(t, d.Add(t.Context(), ws, query.FlowRun, "amber"))
	require.True(t, answers(d, "amb"))
	require.False(t, answers(d, "am"))
	require.False(t, answers(d, "am%er"))
	require.False(t, answers(New(db), "amb"), "it may lack names")
	for i := range 15 {
		require.NoError(t, d.Add(t.Context(), ws, query.FlowRun, fmt.Sprint("name ", i)))
	}
	require.False(t, answers(d, "amb"), "names are missing")
	n, err := db.Collection(CollectionName).CountDocuments(t.Context(), bson.D{})
	require.NoError(t, err)
	require.LessOrEqual(t, n, d.most+2, "and the mark")
	require.NoError(t, d.Clear(t.Context(), ws))
	require.NoError(t, d.Add(t.Context(), ws, query.FlowRun, "amber"))
	require.True(t, answers(d, "amb"))
}

// A search for more names than a list of values may have leaves the names to the documents.
func TestSearchesOfManyNames(t *testing.T) {
	t.Parallel()
	_, d := opened(t)
	ws := uuid.New()
	var list []string
	for i := range maxFound + 1 {
		list = append(list, fmt.Sprint("run ", i))
	}
	require.NoError(t, d.Add(t.Context(), ws, query.TaskRun, list[:maxFound]...))
	found, ok, err := d.Search(t.Context(), ws, query.TaskRun, "run ", pattern("run "))
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, found, maxFound)
	require.NoError(t, d.Add(t.Context(), ws, query.TaskRun, list...))
	_, ok, err = d.Search(t.Context(), ws, query.TaskRun, "run ", pattern("run "))
	require.NoError(t, err)
	require.False(t, ok)
}

// Writers of several processes add the same names at the same time, and each finds its own names afterwards.
func TestNamesOfConcurrentWriters(t *testing.T) {
	t.Parallel()
	db, first := opened(t)
	second := New(db)
	second.Complete()
	ws := uuid.New()
	var all sync.WaitGroup
	for i := range 24 {
		d := []*Dictionary{first, second}[i%2]
		all.Go(func() {
			name := fmt.Sprint("name-", i/4)
			if err := d.Add(t.Context(), ws, query.FlowRun, name, "shared"); err != nil {
				t.Error(err)
				return
			}
			found, ok, err := d.Search(t.Context(), ws, query.FlowRun, name, pattern(name))
			if err != nil || !ok || !slices.Contains(found, name) {
				t.Errorf("found %q: %v, %v", found, ok, err)
			}
		})
	}
	all.Wait()
}

// The names of documents that an earlier version wrote are added, those of all workspaces and kinds.
func TestFill(t *testing.T) {
	t.Parallel()
	db, d := opened(t)
	workspaces := []uuid.UUID{uuid.New(), uuid.New()}
	var docs []any
	for i := range 2*filled + 50 {
		ws := workspaces[i%2]
		docs = append(docs, bson.D{
			{Key: "_id", Value: i}, {Key: "ws", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: ws[:]}}, {Key: "name", Value: fmt.Sprint("run ", i%77)},
		})
	}
	_, err := db.Collection(string(query.FlowRun)).InsertMany(t.Context(), docs)
	require.NoError(t, err)
	for range 2 {
		added, err := d.Fill(t.Context(), db)
		require.NoError(t, err)
		require.Equal(t, 2*77, added)
		for _, ws := range workspaces {
			found, ok, err := d.Search(t.Context(), ws, query.FlowRun, "run 7", pattern("run 7"))
			require.NoError(t, err)
			require.True(t, ok)
			require.Len(t, found, 1+7)
		}
	}
}
