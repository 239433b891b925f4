package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// primaryClock tells the time of the database's primary, which all processes share. It is wrong by at most the round trip of a sample.
type primaryClock struct {
	client *mongo.Client

	sampling sync.Mutex
	mu       sync.Mutex
	last     sample
}

// sample is a time of the primary, and the time of the request.
type sample struct {
	primary, requested time.Time
}

const (
	// sampleEvery is the age at which a caller replaces the sample, sampleLimit the one from which all callers wait for the next.
	sampleEvery = 10 * time.Second
	sampleLimit = 30 * time.Second
)

// Now returns the time of the primary.
func (c *primaryClock) Now(ctx context.Context) (time.Time, error) {
	s := c.latest()
	if s.age() < sampleEvery {
		return s.now(), nil
	}
	if s.age() < sampleLimit {
		if !c.sampling.TryLock() {
			return s.now(), nil
		}
	} else {
		c.sampling.Lock()
	}
	defer c.sampling.Unlock()
	if s = c.latest(); s.age() < sampleEvery {
		return s.now(), nil
	}
	requested := time.Now()
	var reply struct {
		LocalTime time.Time `bson:"localTime"`
	}
	if err := c.client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&reply); err != nil {
		return time.Time{}, fmt.Errorf("read the time of the database: %w", outage(err))
	}
	s = sample{reply.LocalTime, requested}
	c.mu.Lock()
	c.last = s
	c.mu.Unlock()
	return s.now(), nil
}

func (c *primaryClock) latest() sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// age is the time since the sample by both clocks of the process, the longer one: a suspended machine stops one of them.
func (s sample) age() time.Duration {
	if s.requested.IsZero() {
		return sampleLimit
	}
	now := time.Now()
	return max(now.Sub(s.requested), now.Round(0).Sub(s.requested.Round(0)).Abs())
}

func (s sample) now() time.Time { return s.primary.Add(time.Since(s.requested)) }
