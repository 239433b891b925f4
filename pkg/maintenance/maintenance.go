// Package maintenance has the state by which an operator announces that the server is upgraded or restored. The gateways write it into a
// bucket of the broker and follow it; orchestration reads it.
package maintenance

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// Bucket is the name of the broker's bucket.
	Bucket = "maintenance"
	// Key is the key of the bucket's only value.
	Key = "state"
)

// Open opens the bucket, and creates it if it is missing.
func Open(ctx context.Context, conn *broker.Conn) (*broker.KV, error) {
	bucket, err := conn.KeyValue(ctx, Bucket, broker.KVConfig{Description: "maintenance of the server"})
	if err != nil {
		return nil, fmt.Errorf("open the maintenance: %w", err)
	}
	return bucket, nil
}

// Read returns the state. It is off before it is written for the first time.
func Read(ctx context.Context, bucket *broker.KV) (*orchv1.Maintenance, error) {
	state := &orchv1.Maintenance{}
	value, err := bucket.Get(ctx, Key)
	if errors.Is(err, broker.ErrNotFound) {
		return state, nil
	}
	if err == nil {
		err = proto.Unmarshal(value, state)
	}
	if err != nil {
		return nil, fmt.Errorf("read the maintenance: %w", err)
	}
	return state, nil
}
