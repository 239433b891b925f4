package hourtotals

import (
	"context"
	"fmt"
	"testing"
	"time"

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

// skewed is the clock of a process, which is wrong by a constant.
type skewed struct {
	world *time.Time
	by    time.Duration
}

func (s skewed) Now(context.Context) (time.Time, error) { return s.world.Add(s.by), nil }

// matching counts documents by the command of the database.
type matching struct{ db *mongo.Database }

func (m matching) Count(ctx context.Context, c query.Collection, filter bson.D) (int64, error) {
	return m.db.Collection(string(c)).CountDocuments(ctx, filter)
}

// lateness is how long a command may be under way.
const lateness = 5 * time.Second

// underway is a command that lands later.
type underway struct {
	lands time.Time
	do    func(tb rapid.TB)
}

// TestRowsAreNeverStale runs writers, counters and readers of three processes whose clocks are wrong by up to 45 s each. Writes land up to 5 s after
// they opened their hour, counts up to 5 s after they read. Processes crash, which loses their memory and perhaps their commands. Every count must
// equal the number of documents.
func TestRowsAreNeverStale(t *testing.T) {
	t.Parallel()
	db := mongotest.Open(t, embeddedmongo.Options{NoSync: true}).Connect()
	trusted := 0
	rapid.Check(t, func(r *rapid.T) {
		ctx, ws, k := t.Context(), uuid.New(), KindOf(query.FlowRun)
		first := HourOf(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMicro())
		const hours = 3
		world := time.UnixMicro((first + hours).Start()).Add(time.Duration(rapid.IntRange(300, 1800).Draw(r, "age")) * time.Second)
		processes := make([]*Totals, 3)
		clocks := make([]skewed, len(processes))
		start := func(i int) {
			processes[i] = New(db, clocks[i], matching{db})
			processes[i].Trust(time.Time{})
		}
		for i := range processes {
			clocks[i] = skewed{&world, time.Duration(rapid.IntRange(-45, 45).Draw(r, "skew")) * time.Second}
			start(i)
		}
		runs := db.Collection(string(query.FlowRun))
		var pending []underway
		var ids []uuid.UUID
		at := map[uuid.UUID]Hour{}
		late := func(name string) time.Time {
			return world.Add(time.Duration(rapid.Int64Range(0, int64(lateness)).Draw(r, name)))
		}
		steps := rapid.IntRange(50, 150).Draw(r, "steps")
		for range steps {
			index := rapid.IntRange(0, len(processes)-1).Draw(r, "process")
			p := processes[index]
			h := first + Hour(rapid.IntRange(0, hours-1).Draw(r, "hour"))
			switch rapid.SampledFrom([]string{"insert", "delete", "count", "count", "count", "count", "count", "count", "read", "read", "wait", "wait", "wait", "wait", "crash"}).Draw(r, "step") {
			case "insert":
				id := uuid.New()
				ids, at[id] = append(ids, id), h
				require.NoError(r, p.Open(ctx, ws, k, h.Start()+1))
				pending = append(pending, underway{late("lands"), func(tb rapid.TB) {
					_, err := runs.InsertOne(ctx, run(ws, id, h.Start()+1, "COMPLETED"))
					require.NoError(tb, err)
				}})
			case "delete":
				if len(ids) == 0 {
					continue
				}
				id := rapid.SampledFrom(ids).Draw(r, "id")
				require.NoError(r, p.Open(ctx, ws, k, at[id].Start()))
				pending = append(pending, underway{late("lands"), func(tb rapid.TB) {
					_, err := runs.DeleteOne(ctx, bson.D{{Key: "_id", Value: stored(id)}})
					require.NoError(tb, err)
				}})
			case "count":
				now, _ := clocks[index].Now(ctx)
				known, err := p.documents(ctx, ws, k, h, h+1)
				require.NoError(r, err)
				d := known[h]
				if !settled(h, now) || d != nil && (d.countedAt != 0 || !d.mayCount(now)) {
					continue
				}
				groups := late("groups")
				pending = append(pending, underway{groups, func(tb rapid.TB) {
					models, err := p.count(ctx, ws, k, []candidate{{h, d}}, now)
					require.NoError(tb, err)
					pending = append(pending, underway{groups.Add(lateness), func(tb rapid.TB) {
						_, err := p.store(ctx, k, models)
						require.NoError(tb, err)
					}})
				}})
			case "wait":
				until := world.Add(time.Duration(rapid.IntRange(1, 150).Draw(r, "seconds")) * time.Second)
				for {
					next := -1
					for i, u := range pending {
						if !u.lands.After(until) && (next < 0 || u.lands.Before(pending[next].lands)) {
							next = i
						}
					}
					if next < 0 {
						break
					}
					u := pending[next]
					pending = append(pending[:next:next], pending[next+1:]...)
					if u.lands.After(world) {
						world = u.lands
					}
					u.do(r)
				}
				world = until
			case "crash":
				start(index)
			case "read":
				q, ok := Parse(query.FlowRun, encode(r, query.Scope(ws, bson.D{})))
				require.True(r, ok)
				read, err := p.read(ctx, &q, nil)
				require.NoError(r, err)
				for _, c := range read {
					n, err := p.live.Count(ctx, query.FlowRun, q.filter(Window{c.hour.Start(), (c.hour + 1).Start()}))
					require.NoError(r, err)
					require.Equal(r, n, c.n, "hour %d", c.hour-first)
					trusted++
				}
			}
		}
	})
	require.Positive(t, trusted, "hours whose rows were read")
	t.Logf("%d hours were read by their rows", trusted)
}

// run is a stored run.
func run(ws, id uuid.UUID, expected int64, state string) bson.D {
	return bson.D{
		{Key: "_id", Value: stored(id)},
		{Key: "ws", Value: stored(ws)},
		{Key: "expected_start_time", Value: expected},
		{Key: "state", Value: bson.D{{Key: "type", Value: state}, {Key: "name", Value: state}, {Key: "timestamp", Value: expected}}},
	}
}

func stored(id uuid.UUID) bson.Binary { return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id[:]} }

func encode(tb require.TestingT, filter bson.D) bson.Raw {
	raw, err := bson.Marshal(filter)
	require.NoError(tb, err, fmt.Sprint(filter))
	return raw
}
