package embeddedmongo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// serve listens on loopback until the test ends.
func serve(t *testing.T, s *embeddedmongo.Server) string {
	t.Helper()
	return serveWith(t, s, embeddedmongo.Access{})
}

func serveWith(t *testing.T, s *embeddedmongo.Server, access embeddedmongo.Access) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveOn(t, s, ln, access)
}

func serveOn(t *testing.T, s *embeddedmongo.Server, ln net.Listener, access embeddedmongo.Access) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln, access) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return ln.Addr().String()
}

func TestServesTCP(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	s, mem := start(t, t.TempDir(), embeddedmongo.Options{})
	cl, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + serve(t, s) + "/?directConnection=true"))
	require.NoError(t, err)
	defer func() { require.NoError(t, cl.Disconnect(ctx)) }()
	_, err = cl.Database("d").Collection("c").InsertOne(ctx, M{"_id": 1})
	require.NoError(t, err)
	require.NoError(t, mem.Database("d").Collection("c").FindOne(ctx, M{"_id": 1}).Err())
}

func TestHostileConnectionDiesAloneAndOthersLive(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	addr := serve(t, s)
	for _, frame := range [][]byte{
		{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0}, make([]byte, 64), []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = c.Write(frame)
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err = c.Read(make([]byte, 1))
		require.False(t, errors.Is(err, context.DeadlineExceeded) || err == nil, "%v", err)
		require.NoError(t, c.Close())
		require.NoError(t, cl.Ping(ctx, nil))
	}
}

func TestCloseEndsConnections(t *testing.T) {
	s, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{})
	require.NoError(t, err)
	c, err := s.ContextDialer().DialContext(context.WithoutCancel(t.Context()), "tcp", "anything")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	_, err = s.ContextDialer().DialContext(context.WithoutCancel(t.Context()), "tcp", "anything")
	require.ErrorIs(t, err, embeddedmongo.ErrClosed)
}

func TestTTL(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	var now atomic.Int64
	now.Store(1_700_000_000_000)
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{SweepInterval: -1, Clock: func() time.Time { return time.UnixMilli(now.Load()) }})
	c := cl.Database("d").Collection("logs")
	_, err := c.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: D{{Key: "expire_at", Value: 1}}, Options: options.Index().SetExpireAfterSeconds(0)},
		{Keys: D{{Key: "seen", Value: -1}}, Options: options.Index().SetExpireAfterSeconds(60)},
	})
	require.NoError(t, err)
	at := func(seconds int) bson.DateTime { return bson.DateTime(1_700_000_000_000 + seconds*1000) }
	for id, d := range []M{
		{"expire_at": at(10)},
		{"expire_at": at(20)},
		{"expire_at": "never"},
		{"other": 1},
		{"expire_at": A{at(100), at(5)}},
		{"seen": at(-55)},
		{"seen": at(-10)},
	} {
		d["_id"] = id
		_, err := c.InsertOne(ctx, d)
		require.NoError(t, err)
	}
	left := func() string {
		require.NoError(t, embeddedmongo.Sweep(s))
		var ids []int
		require.NoError(t, c.Distinct(ctx, "_id", M{}).Decode(&ids))
		return fmt.Sprint(ids)
	}
	require.Equal(t, "[0 1 2 3 4 5 6]", left())
	now.Add(10_000)
	require.Equal(t, "[1 2 3 6]", left())
	now.Add(90_000)
	require.Equal(t, "[2 3]", left())
	r, err := s.Check(ctx)
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
}

func TestCursorsStreamAndDie(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	var now atomic.Int64
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{SweepInterval: -1, Clock: func() time.Time { return time.UnixMilli(now.Load()) }})
	c := cl.Database("d").Collection("c")
	var docs []any
	for i := range 1000 {
		docs = append(docs, M{"_id": i, "n": i % 7})
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	cur, err := c.Find(ctx, M{}, options.Find().SetBatchSize(10))
	require.NoError(t, err)
	// The find does not see documents that are written after it began.
	_, err = c.DeleteMany(ctx, M{"n": 3})
	require.NoError(t, err)
	n := 0
	for cur.Next(ctx) {
		n++
	}
	require.NoError(t, cur.Err())
	require.Equal(t, 1000, n)
	// A closed one is gone at once, an abandoned one after a while.
	for name, end := range map[string]func(*mongo.Cursor){
		"closed": func(cur *mongo.Cursor) { require.NoError(t, cur.Close(ctx)) },
		"abandoned": func(*mongo.Cursor) {
			now.Add(int64(11 * time.Minute / time.Millisecond))
			require.NoError(t, embeddedmongo.Sweep(s))
		},
	} {
		cur, err := c.Find(ctx, M{}, options.Find().SetBatchSize(10))
		require.NoError(t, err)
		id := cur.ID()
		require.NotZero(t, id)
		end(cur)
		err = c.Database().RunCommand(ctx, D{{Key: "getMore", Value: id}, {Key: "collection", Value: "c"}}).Err()
		var se mongo.ServerError
		require.ErrorAs(t, err, &se, name)
		require.True(t, se.HasErrorCode(43), name)
	}
}

func TestReopenKeepsEverything(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	dir := t.TempDir()
	for life := range 3 {
		s, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
		require.NoError(t, err)
		cl := connect(t, s)
		c := cl.Database("d").Collection("c")
		if life == 0 {
			runIndexes(t, c)
		}
		_, err = c.InsertOne(ctx, runDoc(life))
		require.NoError(t, err)
		n, err := c.EstimatedDocumentCount(ctx)
		require.NoError(t, err)
		require.EqualValues(t, life+1, n)
		l, err := c.Indexes().ListSpecifications(ctx)
		require.NoError(t, err)
		require.Len(t, l, 6)
		_, err = c.InsertOne(ctx, M{"ws": 0, "key": "k0"})
		require.Equal(t, mongo.IsDuplicateKeyError(err), (life%3 == 0 || life > 0), "%v", err)
		if err == nil {
			_, err = c.DeleteOne(ctx, M{"ws": 0, "key": "k0"})
			require.NoError(t, err)
		}
		require.NoError(t, cl.Disconnect(ctx))
		require.NoError(t, s.Close())
	}
}

// fullDisk is a file system whose free space the test sets.
type fullDisk struct {
	vfs.FS
	free atomic.Uint64
}

func (f *fullDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.free.Load(), TotalBytes: 1 << 40}, nil
}

func TestFullDiskRefusesWritesAndRecovers(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	disk := &fullDisk{FS: vfs.Default}
	disk.free.Store(1 << 40)
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{FS: disk})
	c := cl.Database("d").Collection("c", options.Collection().SetWriteConcern(writeconcern.Journaled()))
	pad := bson.Binary{Data: make([]byte, 600<<10)}
	_, err := c.InsertOne(ctx, M{"_id": 0, "pad": pad})
	require.NoError(t, err)
	disk.free.Store(1 << 20)
	// The guard asks again after a megabyte, or a moment.
	acked := 1
	for i := 1; ; i++ {
		_, err = c.InsertOne(ctx, M{"_id": i, "pad": pad})
		if err != nil {
			break
		}
		acked++
		require.Less(t, i, 10, "writes go on although the disk is full")
	}
	var se mongo.ServerError
	require.ErrorAs(t, err, &se)
	require.True(t, se.HasErrorCode(14031), "%v", err)
	require.ErrorContains(t, s.Writable(), "free on disk")
	require.NoError(t, c.FindOne(ctx, M{"_id": 0}).Err())
	_, err = c.DeleteOne(ctx, M{"_id": 0})
	require.NoError(t, err, "deleting makes room")
	disk.free.Store(1 << 40)
	require.Eventually(t, func() bool {
		_, err := c.InsertOne(ctx, M{"_id": "again"})
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, s.Writable())
	n, err := c.CountDocuments(ctx, M{})
	require.NoError(t, err)
	require.EqualValues(t, acked, n)
	r, err := s.Check(ctx)
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
}

func TestNothingIsIgnored(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	db := cl.Database("d")
	_, err := db.Collection("c").InsertOne(ctx, M{"_id": 1, "a": 1})
	require.NoError(t, err)
	for name, cmd := range map[string]D{
		"mapReduce":     {{Key: "mapReduce", Value: "c"}},
		"tailable":      {{Key: "find", Value: "c"}, {Key: "tailable", Value: true}},
		"showRecordId":  {{Key: "find", Value: "c"}, {Key: "showRecordId", Value: true}},
		"collation":     {{Key: "find", Value: "c"}, {Key: "collation", Value: M{"locale": "en", "strength": 2}}},
		"\"let\"":       {{Key: "find", Value: "c"}, {Key: "let", Value: M{"x": 1}}},
		"snapshot":      {{Key: "find", Value: "c"}, {Key: "readConcern", Value: M{"level": "snapshot"}}},
		"$frob":         {{Key: "find", Value: "c"}, {Key: "filter", Value: M{"a": M{"$frob": 1}}}},
		"$meta":         {{Key: "find", Value: "c"}, {Key: "sort", Value: M{"a": M{"$meta": "textScore"}}}},
		"$$SEARCH_META": {{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: A{M{"$group": M{"_id": "$$SEARCH_META"}}}}, {Key: "cursor", Value: M{}}},
		"$out":          {{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: A{M{"$out": "x"}}}, {Key: "cursor", Value: M{}}},
		"$stdDevPop":    {{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: A{M{"$group": M{"_id": nil, "x": M{"$stdDevPop": "$a"}}}}}, {Key: "cursor", Value: M{}}},
		"$sampleRate":   {{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: A{M{"$match": M{"$sampleRate": 0.3}}}}, {Key: "cursor", Value: M{}}},
		"$dateTrunc":    {{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: A{M{"$group": M{"_id": M{"$dateTrunc": M{"date": "$a", "unit": "day"}}}}}}, {Key: "cursor", Value: M{}}},
		"$set":          {{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: A{M{"$set": M{"x": 1}}}}, {Key: "cursor", Value: M{}}},
		"bulkWrite":     {{Key: "bulkWrite", Value: 1}, {Key: "ops", Value: A{}}, {Key: "nsInfo", Value: A{}}},
		"capped":        {{Key: "create", Value: "x"}, {Key: "capped", Value: true}},
		"validator":     {{Key: "create", Value: "x"}, {Key: "validator", Value: M{}}},
		"wildcard":      {{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: A{M{"key": M{"$**": 1}, "name": "w"}}}},
		"2dsphere":      {{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: A{M{"key": M{"a": "2dsphere"}, "name": "w"}}}},
		"hidden":        {{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: A{M{"key": M{"a": 1}, "name": "w", "hidden": true}}}},
		"w: 2":          {{Key: "insert", Value: "c"}, {Key: "documents", Value: A{M{"_id": 9}}}, {Key: "writeConcern", Value: M{"w": int32(2)}}},
		"txnNumber":     {{Key: "insert", Value: "c"}, {Key: "documents", Value: A{M{"_id": 9}}}, {Key: "txnNumber", Value: int64(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			err := db.RunCommand(ctx, cmd).Err()
			var se mongo.ServerError
			require.ErrorAs(t, err, &se)
			require.True(t, se.HasErrorCode(238), "%v", err)
			if name != "w: 2" {
				require.ErrorContains(t, err, name)
			}
		})
	}
	n, err := db.Collection("c").CountDocuments(ctx, M{})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

func TestUnjournaledWritesAreVisibleAndCountAsDirty(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	no := false
	c := cl.Database("d").Collection("c", options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &no}))
	_, err := c.InsertOne(ctx, M{"_id": 1})
	require.NoError(t, err)
	unack := cl.Database("d").Collection("c", options.Collection().SetWriteConcern(writeconcern.Unacknowledged()))
	_, err = unack.InsertOne(ctx, M{"_id": 2})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		n, err := c.CountDocuments(ctx, M{})
		return err == nil && n == 2
	}, 10*time.Second, time.Millisecond)
}
