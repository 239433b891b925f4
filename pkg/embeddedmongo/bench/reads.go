package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// figures are medians in milliseconds; reopen in seconds, memory in megabytes.
type figures struct{ query, skip, count, reopen, memory float64 }

const rounds = 31

func reads(ctx context.Context, r *report, dir string, n int) (f figures, err error) {
	path := filepath.Join(dir, fmt.Sprint("reads", n))
	s, cl, err := open(path)
	if err != nil {
		return f, err
	}
	begin := time.Now()
	if err := fill(ctx, cl.Database("bench").Collection("runs"), n); err != nil {
		return f, errors.Join(err, s.Close())
	}
	r.line(fmt.Sprintf("insertMany(1000), documents/s, %d", n), "%10.0f", float64(n)/time.Since(begin).Seconds())
	if err := errors.Join(cl.Disconnect(ctx), s.Close()); err != nil {
		return f, err
	}
	begin = time.Now()
	if s, cl, err = open(path); err != nil {
		return f, err
	}
	f.reopen = time.Since(begin).Seconds()
	defer func() { err = errors.Join(err, cl.Disconnect(ctx), s.Close(), os.RemoveAll(path)) }()
	c := cl.Database("bench").Collection("runs")
	ws := id(1 << 40)
	newest := options.Find().SetSort(bson.D{{Key: "start", Value: -1}}).SetLimit(50)
	show := func(name string, run func() error) (float64, error) {
		ms, err := median(run)
		r.line(fmt.Sprintf("%s, %d, p50 ms", name, n), "%10.3f", ms)
		return ms, err
	}
	if f.query, err = show("state.type equality, sort, limit 50", func() error {
		return drain(ctx, c, bson.D{{Key: "ws", Value: ws}, {Key: "state.type", Value: "FAILED"}}, newest)
	}); err != nil {
		return f, err
	}
	if _, err = show("state.type $in 3, sort, limit 50 (merge)", func() error {
		return drain(ctx, c, bson.D{{Key: "ws", Value: ws}, {Key: "state.type", Value: bson.M{"$in": states[:3]}}}, newest)
	}); err != nil {
		return f, err
	}
	if _, err = show("find by _id", func() error {
		return c.FindOne(ctx, bson.D{{Key: "_id", Value: id(n / 2)}}).Err()
	}); err != nil {
		return f, err
	}
	skipped := options.Find().SetSort(bson.D{{Key: "start", Value: -1}}).SetLimit(50).SetSkip(int64(min(5000, n/2)))
	if f.skip, err = show("skip 5,000, sort, limit 50", func() error {
		return drain(ctx, c, bson.D{{Key: "ws", Value: ws}}, skipped)
	}); err != nil {
		return f, err
	}
	// A count that stops at its limit makes no counters, so these walk keys as a database without counters does.
	for _, limit := range []int{n - 1, min(10_001, n-1)} {
		if _, err = show(fmt.Sprintf("count by a walk of %d keys", limit), func() error {
			return c.Database().RunCommand(ctx, bson.D{
				{Key: "count", Value: c.Name()}, {Key: "query", Value: bson.D{{Key: "ws", Value: ws}}}, {Key: "limit", Value: limit},
			}).Err()
		}); err != nil {
			return f, err
		}
	}
	if f.count, err = show("count by indexed equality", func() error {
		_, err := c.CountDocuments(ctx, bson.D{{Key: "ws", Value: ws}, {Key: "state.type", Value: "FAILED"}})
		return err
	}); err != nil {
		return f, err
	}
	if _, err = show("distinct flow_id (skip-scan)", func() error {
		return c.Distinct(ctx, "flow_id", bson.D{{Key: "ws", Value: ws}}).Err()
	}); err != nil {
		return f, err
	}
	begin = time.Now()
	cur, err := c.Aggregate(ctx, bson.A{bson.M{"$match": bson.M{"ws": ws}}, bson.M{"$group": bson.M{"_id": "$state.type", "n": bson.M{"$sum": 1}}}})
	if err != nil {
		return f, err
	}
	var groups []bson.M
	if err := cur.All(ctx, &groups); err != nil {
		return f, err
	}
	r.line(fmt.Sprintf("group by state.type over all, %d, s", n), "%10.3f", time.Since(begin).Seconds())
	f.memory, err = resident()
	return f, err
}

func fill(ctx context.Context, c *mongo.Collection, n int) error {
	if err := indexes(ctx, c); err != nil {
		return err
	}
	for i := 0; i < n; i += 1000 {
		batch := make([]any, 0, 1000)
		for j := i; j < min(n, i+1000); j++ {
			batch = append(batch, document(j))
		}
		if _, err := c.InsertMany(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func drain(ctx context.Context, c *mongo.Collection, q bson.D, o *options.FindOptionsBuilder) error {
	cur, err := c.Find(ctx, q, o)
	if err != nil {
		return err
	}
	n := 0
	for cur.Next(ctx) {
		n++
	}
	if n == 0 {
		return errors.New("query found no document")
	}
	return errors.Join(cur.Err(), cur.Close(ctx))
}

func median(f func() error) (float64, error) {
	var ms []float64
	for range rounds {
		begin := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
	}
	slices.Sort(ms)
	return ms[len(ms)/2], nil
}

// resident reads this process's resident memory from the kernel, in megabytes.
func resident() (float64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for _, l := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, errors.New("read VmRSS: not in /proc/self/status")
}
