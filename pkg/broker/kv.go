package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	defaultBucketBytes = 64 << 20
	// bucketPrefix starts the names of the streams of buckets.
	bucketPrefix = "KV_"
	// probeInterval is the interval at which a bucket verifies with the broker that its view is current.
	probeInterval = time.Second
)

// KVConfig configures a new bucket. An existing bucket keeps its description.
type KVConfig struct {
	Description string
	// Memory keeps the bucket in the memory of the broker, with this size in bytes: a change waits for no disk, a restart of the broker
	// empties the bucket, and a full one drops the key that nobody has changed for longest. 0 means a bucket on disk with the configured
	// size, which refuses changes when it is full.
	Memory int64
	// MaxAge removes a key that nobody has changed for so long; 0 means never.
	MaxAge time.Duration
}

// KV is a bucket of keys with their last values. It is safe for concurrent use.
type KV struct {
	conn   *Conn
	bucket string
	cfg    KVConfig
	kv     jetstream.KeyValue

	mu        sync.Mutex
	watching  int       // Running watches.
	complete  bool      // The watch has handled the initial values.
	seen      uint64    // The revision up to which the watch has handled changes.
	awaited   uint64    // The bucket's revision at awaitedAt; 0: none awaited.
	awaitedAt time.Time // When the bucket had it.
	contact   time.Time
	waiters   []revisionWaiter // Waiting calls of CatchUp.
	clock     time.Time        // The time of the broker at readAt; zero before its first response.
	readAt    time.Time
}

// KeyValue opens a bucket, and creates it if necessary. Until the connection is closed, it verifies every second with
// the broker that its view is current: open a bucket once.
func (c *Conn) KeyValue(ctx context.Context, bucket string, cfg KVConfig) (*KV, error) {
	kv, err := c.openBucket(ctx, bucket, cfg)
	for err != nil && temporary(err) && clock.Pause(ctx, retryInterval) {
		kv, err = c.openBucket(ctx, bucket, cfg)
	}
	if err != nil {
		return nil, err
	}
	k := &KV{conn: c, bucket: bucket, cfg: cfg, kv: kv}
	k.probe(ctx)
	c.wg.Go(func() {
		for clock.Pause(c.ctx, probeInterval) {
			k.probe(c.ctx)
		}
	})
	return k, nil
}

// openBucket makes one attempt to open or create a bucket. It ends after requestTimeout, because a request to a stream
// without a leader, as in a cluster that starts, never gets a response.
func (c *Conn) openBucket(ctx context.Context, bucket string, cfg KVConfig) (jetstream.KeyValue, error) {
	attempt, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	kv, err := c.js.KeyValue(attempt, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = c.createBucket(attempt, bucket, cfg)
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = c.js.KeyValue(attempt, bucket) // Another service created it concurrently.
		}
	}
	if err == nil && c.cfg.BucketBytes > 0 && cfg.Memory == 0 {
		err = c.resizeBucket(attempt, bucket)
	}
	return kv, unavailable(ctx, "opening bucket "+bucket, err)
}

func (c *Conn) createBucket(ctx context.Context, bucket string, cfg KVConfig) (jetstream.KeyValue, error) {
	if cfg.Memory == 0 {
		return c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:      bucket,
			Description: cfg.Description,
			MaxBytes:    cmp.Or(c.cfg.BucketBytes, defaultBucketBytes),
			Replicas:    c.cfg.Replicas,
			Storage:     jetstream.FileStorage,
			TTL:         cfg.MaxAge,
		})
	}
	// CreateKeyValue makes no bucket that drops keys.
	_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{
		Name:              bucketPrefix + bucket,
		Description:       cfg.Description,
		Subjects:          []string{"$KV." + bucket + ".>"},
		MaxMsgsPerSubject: 1,
		MaxBytes:          cfg.Memory,
		MaxAge:            cfg.MaxAge,
		Discard:           jetstream.DiscardOld,
		Replicas:          c.cfg.Replicas,
		Storage:           jetstream.MemoryStorage,
		AllowRollup:       true,
		AllowDirect:       true,
		DenyDelete:        true,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil, err
	}
	return c.js.KeyValue(ctx, bucket)
}

// resizeBucket gives an existing bucket the configured size.
func (c *Conn) resizeBucket(ctx context.Context, bucket string) error {
	stream, err := c.js.Stream(ctx, bucketPrefix+bucket)
	if err != nil {
		return err
	}
	cfg := stream.CachedInfo().Config
	if cfg.MaxBytes == c.cfg.BucketBytes {
		return nil
	}
	cfg.MaxBytes = c.cfg.BucketBytes
	_, err = c.js.UpdateStream(ctx, cfg)
	return err
}

// Put stores a value durably and returns its revision, which grows with every change of the bucket. Keys consist of
// letters, digits, and - _ = / . (a dot neither first nor last).
func (k *KV) Put(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	revision, err = k.kv.Put(bound, key, value)
	if errors.Is(err, jetstream.ErrInvalidKey) {
		return 0, fmt.Errorf("put %q into bucket %s: %w", key, k.bucket, err)
	}
	return revision, unavailable(ctx, "putting into bucket "+k.bucket, err)
}

// Get returns the value of a key, or ErrNotFound.
func (k *KV) Get(ctx context.Context, key string) ([]byte, error) {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	entry, err := k.kv.Get(bound, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, fmt.Errorf("get %q from bucket %s: %w", key, k.bucket, ErrNotFound)
	}
	if err != nil {
		return nil, unavailable(ctx, "getting from bucket "+k.bucket, err)
	}
	return entry.Value(), nil
}

// Delete removes a key. A missing key is not an error.
func (k *KV) Delete(ctx context.Context, key string) error {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	err := k.kv.Delete(bound, key)
	if errors.Is(err, jetstream.ErrInvalidKey) {
		return fmt.Errorf("delete %q from bucket %s: %w", key, k.bucket, err)
	}
	return unavailable(ctx, "deleting from bucket "+k.bucket, err)
}

// Keys lists the keys, in no order.
func (k *KV) Keys(ctx context.Context) ([]string, error) {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	keys, err := k.kv.Keys(bound)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	return keys, unavailable(ctx, "listing bucket "+k.bucket, err)
}

// LastContact returns the last time at which the broker confirmed that the watch had delivered the whole bucket. It
// advances every second while the broker responds and the watch keeps up. It stops while the view lags, and during an
// outage. It is zero before the first watch has caught up. Without a watch it is the last response of the broker.
func (k *KV) LastContact() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.contact
}

// Now implements clock.Clock by the clock of the broker, so that processes with different clocks read the same time. Between two probes
// the time is counted by this process, whose clock may be stepped meanwhile.
func (k *KV) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clock.IsZero() {
		return clock.System{}.Now()
	}
	return clock.Canonical(k.clock.Add(time.Since(k.readAt)))
}

// probe requests the bucket's last revision. The bucket's leader responds, so a response proves more than a live
// connection. A bucket that the broker has lost with its memory is created again.
func (k *KV) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*probeInterval)
	defer cancel()
	ctx, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	requestedAt := time.Now()
	stream, err := k.conn.js.Stream(ctx, bucketPrefix+k.bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) && k.cfg.Memory > 0 {
		_, _ = k.conn.openBucket(ctx, k.bucket, k.cfg) // After a failure the next probe tries again.
	}
	if err != nil {
		return
	}
	info := stream.CachedInfo()
	last := info.State.LastSeq
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock, k.readAt = info.TimeStamp, requestedAt.Add(time.Since(requestedAt)/2)
	switch {
	case k.watching > 0 && !k.complete:
	case k.watching == 0, k.seen >= last:
		k.contact, k.awaited = requestedAt, 0
	case k.awaited == 0 || k.seen >= k.awaited:
		k.awaited, k.awaitedAt = last, requestedAt
	}
}
