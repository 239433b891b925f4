package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// open opens a store on an embedded server, and a function that closes both.
func open(t *testing.T, dir string, opts embeddedmongo.Options) (*store.Store, func()) {
	t.Helper()
	return openVia(t, dir, opts, func(s *embeddedmongo.Server) options.ContextDialer { return s.ContextDialer() })
}

// openVia is open with the connections of a dialer.
func openVia(
	t *testing.T, dir string, opts embeddedmongo.Options, dialer func(*embeddedmongo.Server) options.ContextDialer,
) (*store.Store, func()) {
	t.Helper()
	server, err := embeddedmongo.Open(dir, opts)
	require.NoError(t, err)
	s, err := store.Open(t.Context(), store.Config{
		URI: server.URI(), Database: "orch", Dialer: dialer(server), Clock: clock.System{}, IDs: id.System(),
	})
	require.NoError(t, err)
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	return s, func() {
		require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
		require.NoError(t, server.Close())
	}
}

// connecting is a dialer that is no store.Inserter.
type connecting struct{ options.ContextDialer }

func flows(s *store.Store, opts ...store.Option) *store.Collection[*orchv1.Flow] {
	return store.NewCollection(s, query.Flow, &orchv1.Flow{}, opts...)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) *store.Store {
			s, done := open(t, t.TempDir(), embeddedmongo.Options{})
			t.Cleanup(done)
			return s
		})
	})
	t.Run("embedded, by the driver alone", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) *store.Store {
			s, done := openVia(t, t.TempDir(), embeddedmongo.Options{}, func(s *embeddedmongo.Server) options.ContextDialer {
				return connecting{s.ContextDialer()}
			})
			t.Cleanup(done)
			return s
		})
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		uri := os.Getenv(mongotest.Variable)
		if uri == "" {
			t.Skip(mongotest.Variable + " names no server")
		}
		storetest.Run(t, func(t *testing.T) *store.Store { return remote(t, uri) })
	})
}

// remote opens a new database on a server, and drops it at the end.
func remote(t *testing.T, uri string) *store.Store {
	t.Helper()
	name := "orch_store_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	s, err := store.Open(t.Context(), store.Config{URI: uri, Database: name, Clock: clock.System{}, IDs: id.System()})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		client, err := mongo.Connect(options.Client().ApplyURI(uri))
		require.NoError(t, err)
		require.NoError(t, client.Database(name).Drop(ctx))
		require.NoError(t, client.Disconnect(ctx))
		require.NoError(t, s.Close(ctx))
	})
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	return s
}

// TestPowerCut simulates a power failure under writers and checks that every acknowledged write is still stored.
// Unsynced data is lost.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for round := range 5 {
		require.Empty(t, lost(t, false, round), "acknowledged and missing after the power cut")
	}
}

// TestPowerCutFindsLazySyncing proves that the test above can fail.
func TestPowerCutFindsLazySyncing(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		if len(lost(t, true, round)) > 0 {
			return
		}
	}
	t.Fatal("without syncing nothing was missing: the test sees nothing")
}

// lost runs writers, simulates a power failure, and returns the acknowledged writes that are missing afterwards.
func lost(t *testing.T, lazy bool, round int) []string {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s, done := open(t, "data", embeddedmongo.Options{FS: disk, NoSync: lazy})
	ws := uuid.New()
	var mu sync.Mutex
	acknowledged := map[uuid.UUID]int64{}
	enough := make(chan struct{})
	var group sync.WaitGroup
	var once sync.Once
	ctx, stop := context.WithCancel(t.Context())
	for w := range 8 {
		group.Go(func() {
			c := flows(s)
			for i := 0; ctx.Err() == nil; i++ {
				key := uuid.New()
				name := fmt.Sprintf("%d.%d", w, i)
				if c.Insert(ctx, ws, &orchv1.Flow{Id: key.String(), Name: name}) != nil {
					return
				}
				mu.Lock()
				acknowledged[key] = 1
				mu.Unlock()
				_, err := c.Mutate(ctx, ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
					next := proto.Clone(current).(*orchv1.Flow)
					next.Tags = []string{"changed"}
					return &store.Change[*orchv1.Flow]{Message: next}, nil
				})
				if err != nil {
					return
				}
				mu.Lock()
				acknowledged[key] = 2
				if len(acknowledged) >= 100+17*round {
					once.Do(func() { close(enough) })
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	mu.Lock()
	want := make(map[uuid.UUID]int64, len(acknowledged))
	maps.Copy(want, acknowledged)
	mu.Unlock()
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	stop()
	group.Wait()
	done()

	s, done = open(t, "data", embeddedmongo.Options{FS: after})
	defer done()
	var missing []string
	for key, revision := range want {
		_, found, err := store.GetRevision(t.Context(), flows(s), ws, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			require.NoError(t, err)
		}
		if found < revision {
			missing = append(missing, fmt.Sprintf("%s: revision %d of %d", key, found, revision))
		}
	}
	return missing
}

// An index whose options a newer version changed is recreated on the database of an older version.
func TestIndexesFollowTheirDescription(t *testing.T) {
	t.Parallel()
	s, done := open(t, t.TempDir(), embeddedmongo.Options{})
	defer done()
	changed := query.Indexes()
	for i := range changed {
		if changed[i].Partial == nil && !changed[i].Unique && !changed[i].Sparse && !changed[i].TTL {
			changed[i].Partial = bson.D{{Key: "name", Value: bson.D{{Key: "$exists", Value: true}}}}
		}
	}
	require.NoError(t, s.EnsureIndexes(t.Context(), changed))
	require.NoError(t, s.EnsureIndexes(t.Context(), changed))
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
}

// TestRetiredIndexesAreDropped leaves the index that an operator created.
func TestRetiredIndexesAreDropped(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	s := storetest.Connect(t, database, clock.System{})
	names := func(c query.Collection) (names []string) {
		specs, err := database.Connect().Collection(string(c)).Indexes().ListSpecifications(t.Context())
		require.NoError(t, err)
		for _, spec := range specs {
			names = append(names, spec.Name)
		}
		return names
	}
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	for collection, retired := range query.Retired() {
		view := database.Connect().Collection(string(collection)).Indexes()
		_, err := view.CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "of_an_operator", Value: 1}}})
		require.NoError(t, err)
		before := names(collection)
		for _, keys := range retired {
			_, err := view.CreateOne(t.Context(), mongo.IndexModel{Keys: keys})
			require.NoError(t, err)
		}
		require.Len(t, names(collection), len(before)+len(retired), "none is in use")
		require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
		require.ElementsMatch(t, before, names(collection))
	}
}
