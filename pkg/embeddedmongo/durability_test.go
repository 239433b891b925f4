package embeddedmongo_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// runIndexes are indexes as a store of runs has them: compound, multikey, partial unique.
func runIndexes(t testing.TB, c *mongo.Collection) {
	t.Helper()
	_, err := c.Indexes().CreateMany(context.WithoutCancel(t.Context()), []mongo.IndexModel{
		{Keys: D{{Key: "ws", Value: 1}, {Key: "start", Value: -1}}},
		{Keys: D{{Key: "ws", Value: 1}, {Key: "state.type", Value: 1}, {Key: "start", Value: -1}}},
		{Keys: D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}}},
		{Keys: D{{Key: "ws", Value: 1}, {Key: "tags", Value: 1}}},
		{Keys: D{{Key: "ws", Value: 1}, {Key: "key", Value: 1}}, Options: options.Index().SetUnique(true).SetPartialFilterExpression(M{"key": M{"$exists": true}})},
	})
	require.NoError(t, err)
}

func runDoc(id int) D {
	states := []string{"SCHEDULED", "RUNNING", "COMPLETED", "FAILED"}
	return D{
		{Key: "_id", Value: id},
		{Key: "ws", Value: id % 3},
		{Key: "name", Value: fmt.Sprint("run-", id%1000)},
		{Key: "key", Value: fmt.Sprint("k", id)},
		{Key: "rev", Value: 0},
		{Key: "start", Value: id * 7 % 10007},
		{Key: "state", Value: D{{Key: "type", Value: states[id%4]}}},
		{Key: "tags", Value: A{fmt.Sprint("t", id%5), fmt.Sprint("t", id%7)}},
	}
}

// acknowledged is what a client may rely on: for each document the last revision whose write was answered.
type acknowledged struct {
	mu    sync.Mutex
	more  sync.Cond
	total int
	rev   map[int]int
	each  func(id, rev int) // Called after each acknowledgement, when set.
}

func newAcknowledged() *acknowledged {
	a := &acknowledged{rev: map[int]int{}}
	a.more.L = &a.mu
	return a
}

func (a *acknowledged) set(id, rev int) {
	if a.each != nil {
		a.each(id, rev)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rev[id] = rev
	a.total++
	a.more.Broadcast()
}

// wait returns after n more acknowledgements.
func (a *acknowledged) wait(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for until := a.total + n; a.total < until; {
		a.more.Wait()
	}
}

func (a *acknowledged) copy() map[int]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.rev)
}

// write inserts documents of its own and changes them by compare-and-set until ctx ends.
func (a *acknowledged) write(ctx context.Context, c *mongo.Collection, next *atomic.Int64) {
	rnd := rand.New(rand.NewPCG(1, uint64(next.Load())))
	var mine []int
	rev := map[int]int{}
	for ctx.Err() == nil {
		if len(mine) == 0 || rnd.IntN(2) == 0 {
			id := int(next.Add(1))
			if _, err := c.InsertOne(ctx, runDoc(id)); err != nil {
				return
			}
			a.set(id, 0)
			mine = append(mine, id)
			continue
		}
		id := mine[rnd.IntN(len(mine))]
		err := c.FindOneAndUpdate(ctx, M{"_id": id, "rev": rev[id]}, M{"$inc": M{"rev": 1}, "$set": M{"state.type": "CHANGED"}}).Err()
		if err != nil {
			return
		}
		rev[id]++
		a.set(id, rev[id])
	}
}

// missing counts acknowledged writes that a store does not have.
func missing(t testing.TB, c *mongo.Collection, acked map[int]int) int {
	t.Helper()
	cur, err := c.Find(context.WithoutCancel(t.Context()), M{}, options.Find().SetProjection(M{"rev": 1}))
	require.NoError(t, err)
	var docs []struct {
		ID  int `bson:"_id"`
		Rev int
	}
	require.NoError(t, cur.All(context.WithoutCancel(t.Context()), &docs))
	got := map[int]int{}
	for _, d := range docs {
		got[d.ID] = d.Rev
	}
	lost := 0
	for id, rev := range acked {
		if r, ok := got[id]; !ok || r < rev {
			lost++
		}
	}
	return lost
}

// powerCuts runs writers on a file system that forgets what was not synced, cuts the power at random moments, and counts the
// acknowledged writes that are gone afterwards.
func powerCuts(t *testing.T, cuts, writers int, noSync bool) (lost, acks int) {
	fs := vfs.NewCrashableMem()
	rnd := rand.New(rand.NewPCG(uint64(cuts), 7))
	var next atomic.Int64
	for cut := 0; cut < cuts; {
		s, err := embeddedmongo.Open("data", embeddedmongo.Options{FS: fs, NoSync: noSync, SweepInterval: -1})
		require.NoError(t, err)
		cl := connect(t, s)
		c := cl.Database("d").Collection("runs")
		runIndexes(t, c)
		ack := newAcknowledged()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() { ack.write(ctx, c, &next) })
		}
		// Several cuts of one life: each clone is the disk as the power failed at that moment.
		type crash struct {
			disk  *vfs.MemFS
			acked map[int]int
		}
		var crashes []crash
		for range min(10, cuts-cut) {
			ack.wait(1 + rnd.IntN(100))
			acked := ack.copy()
			crashes = append(crashes, crash{fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd}), acked})
			cut++
		}
		cancel()
		wg.Wait()
		require.NoError(t, cl.Disconnect(context.WithoutCancel(t.Context())))
		require.NoError(t, s.Close())
		for _, x := range crashes {
			lost += verifyCrash(t, x.disk, x.acked)
			acks += len(x.acked)
		}
		// The next life begins where the last cut left the disk, now and then.
		fs = vfs.NewCrashableMem()
		if rnd.IntN(2) == 0 {
			fs = crashes[len(crashes)-1].disk
		}
		next.Add(1_000_000)
	}
	return lost, acks
}

// A write that does not wait for the disk gets there by itself.
func TestUnjournaledWritesReachTheDisk(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	s, err := embeddedmongo.Open("store", embeddedmongo.Options{FS: fs})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	raw := func(d D) bson.Raw {
		b, err := bson.Marshal(d)
		require.NoError(t, err)
		return b
	}
	id := D{{Key: "_id", Value: 1}}
	_, err = s.ContextDialer().Insert(t.Context(), "d", "c", []bson.Raw{raw(id)})
	require.NoError(t, err)
	set := D{{Key: "q", Value: id}, {Key: "u", Value: D{{Key: "$set", Value: D{{Key: "v", Value: 1}}}}}}
	_, err = s.ContextDialer().Update(t.Context(), "d", "c", []bson.Raw{raw(set)}, false)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		crashed, err := embeddedmongo.Open("store", embeddedmongo.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})})
		require.NoError(t, err)
		n, err := crashed.ContextDialer().Count(t.Context(), "d", "c", raw(D{{Key: "v", Value: 1}}), 0)
		require.NoError(t, err)
		require.NoError(t, crashed.Close())
		return n.Lookup("n").AsInt64() == 1
	}, time.Minute, 50*time.Millisecond)
}

func verifyCrash(t *testing.T, fs *vfs.MemFS, acked map[int]int) int {
	t.Helper()
	// The clone itself stays as it is: the server works on another one.
	copied := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0})
	s, err := embeddedmongo.Open("data", embeddedmongo.Options{FS: copied, SweepInterval: -1})
	require.NoError(t, err)
	cl := connect(t, s)
	defer func() {
		require.NoError(t, cl.Disconnect(context.WithoutCancel(t.Context())))
		require.NoError(t, s.Close())
	}()
	r, err := s.Check(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
	return missing(t, cl.Database("d").Collection("runs"), acked)
}

func TestPowerCutLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	cuts := 200
	if testing.Short() {
		cuts = 20
	}
	lost, acks := powerCuts(t, cuts, 16, false)
	t.Logf("%d cuts, %d acknowledged documents compared, %d lost", cuts, acks, lost)
	require.Zero(t, lost)
	require.Positive(t, acks)
}

func TestPowerCutTestCanFail(t *testing.T) {
	lost, acks := powerCuts(t, 10, 16, true)
	t.Logf("without sync: %d of %d lost", lost, acks)
	require.Positive(t, lost)
}

func TestBackupAndRestoreWhileWriting(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("runs")
	runIndexes(t, c)
	ack := newAcknowledged()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { ack.write(ctx, c, &next) })
	}
	ack.wait(300)
	before := ack.copy()
	backup, dir := t.TempDir()+"/backup", t.TempDir()+"/data"
	require.NoError(t, s.Backup(context.WithoutCancel(t.Context()), backup))
	require.Error(t, s.Backup(context.WithoutCancel(t.Context()), backup), "a backup is never overwritten")
	cancel()
	wg.Wait()
	r, err := embeddedmongo.Check(context.WithoutCancel(t.Context()), backup)
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
	require.NoError(t, embeddedmongo.Restore(context.WithoutCancel(t.Context()), backup, dir))
	require.Error(t, embeddedmongo.Restore(context.WithoutCancel(t.Context()), backup, dir))
	_, restored := start(t, dir, embeddedmongo.Options{})
	require.Zero(t, missing(t, restored.Database("d").Collection("runs"), before))
	var d bson.M
	require.NoError(t, restored.Database("d").Collection("runs").FindOne(context.WithoutCancel(t.Context()), M{"ws": 1}).Decode(&d))
}
