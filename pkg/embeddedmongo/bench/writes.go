package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

var states = []string{"SCHEDULED", "RUNNING", "COMPLETED", "FAILED"}

// run-like document of about 700 bytes.
func document(i int) bson.D {
	return bson.D{
		{Key: "_id", Value: id(i)},
		{Key: "ws", Value: id(1 << 40)},
		{Key: "name", Value: fmt.Sprintf("brave-run-%d", i%5000)},
		{Key: "flow_id", Value: id(1<<41 + i%50)},
		{Key: "start", Value: int64(i)},
		{Key: "state", Value: bson.D{{Key: "type", Value: states[(i/7)%4]}, {Key: "name", Value: "x"}}},
		{Key: "tags", Value: bson.A{fmt.Sprint("t", i%10)}},
		{Key: "pad", Value: strings.Repeat("p", 450)},
	}
}

func id(i int) bson.Binary {
	b := make([]byte, 16)
	binary.BigEndian.PutUint64(b[8:], uint64(i)*0x9e3779b97f4a7c15)
	return bson.Binary{Subtype: 4, Data: b}
}

func indexes(ctx context.Context, c *mongo.Collection) error {
	field := func(names ...string) mongo.IndexModel {
		keys := bson.D{{Key: "ws", Value: 1}}
		for _, n := range names {
			keys = append(keys, bson.E{Key: n, Value: 1})
		}
		return mongo.IndexModel{Keys: keys}
	}
	_, err := c.Indexes().CreateMany(ctx, []mongo.IndexModel{
		field("start"), field("state.type", "start"), field("name"), field("flow_id", "start"), field("tags"),
	})
	return err
}

// perSecond runs f in the writers for the given time.
func perSecond(writers int, d time.Duration, f func(i int) error) (float64, error) {
	var n, next atomic.Int64
	errs := make([]error, writers)
	begin := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for time.Since(begin) < d {
				if errs[w] = f(int(next.Add(1))); errs[w] != nil {
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / time.Since(begin).Seconds(), errors.Join(errs...)
}

// many is the number of documents of one bulk command.
const many = 2000

// rawInserts commits the same keys and values as inserts do into Pebble alone, with a sync each time: those of each documents.
func rawInserts(dir string, writers, each int, d time.Duration) (rate float64, err error) {
	path := filepath.Join(dir, fmt.Sprint("raw", writers))
	db, err := pebble.Open(path, &pebble.Options{MemTableSize: 8 << 20, MemTableStopWritesThreshold: 3, Logger: quiet{}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(), os.RemoveAll(path)) }()
	rate, err = perSecond(writers, d, func(i int) error {
		b := db.NewBatch()
		defer b.Close()
		for k := range each {
			if err := put(b, i*each+k); err != nil {
				return err
			}
		}
		return b.Commit(pebble.Sync)
	})
	return rate * float64(each), err
}

func put(b *pebble.Batch, i int) error {
	doc, err := bson.Marshal(document(i))
	if err != nil {
		return err
	}
	key := id(i).Data
	if err := b.Set(append([]byte("d0000"), key...), doc, nil); err != nil {
		return err
	}
	for ix, extra := range []int{9, 22, 18, 31, 4} {
		k := append([]byte(fmt.Sprintf("i0000%02d", ix)), make([]byte, 22+extra)...)
		binary.BigEndian.PutUint64(k[len(k)-8:], uint64(i))
		if err := b.Set(append(k, key...), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func storeInserts(ctx context.Context, dir string, writers, each int, d time.Duration) (rate float64, err error) {
	path := filepath.Join(dir, fmt.Sprint("own", writers))
	s, cl, err := open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cl.Disconnect(ctx), s.Close(), os.RemoveAll(path)) }()
	c := cl.Database("bench").Collection("runs")
	if err := indexes(ctx, c); err != nil {
		return 0, err
	}
	rate, err = perSecond(writers, d, func(i int) error {
		if each == 1 {
			_, err := c.InsertOne(ctx, document(i))
			return err
		}
		docs := make([]bson.D, each)
		for k := range docs {
			docs[k] = document(i*each + k)
		}
		_, err := c.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
		return err
	})
	return rate * float64(each), err
}

func open(path string) (*embeddedmongo.Server, *mongo.Client, error) {
	s, err := embeddedmongo.Open(path, embeddedmongo.Options{})
	if err != nil {
		return nil, nil, err
	}
	cl, err := mongo.Connect(options.Client().ApplyURI(s.URI()).SetDialer(s.ContextDialer()))
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, cl, nil
}

type quiet struct{}

func (quiet) Infof(string, ...any)      {}
func (quiet) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (quiet) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
