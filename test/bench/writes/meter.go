package main

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/test/bench/beside"
)

// written counts the writes of a store since its start.
type written struct {
	// keys is the number of keys of documents and of index entries that were written or deleted, bytes the size of the log.
	keys, bytes float64
}

// meter reads the counts of a store.
type meter interface {
	read(ctx context.Context) (written, error)
	close() error
}

// embedded reads the metrics of the single binary at its internal address.
type embedded struct{ internal string }

func (e embedded) close() error { return nil }

func (e embedded) read(context.Context) (written, error) {
	keys, err := beside.Metric(e.internal, "orch_embedded_store_written_keys_total")
	if err != nil {
		return written{}, err
	}
	bytes, err := beside.Metric(e.internal, "orch_embedded_store_log_bytes_total")
	return written{keys, bytes}, err
}

// server reads the statistics of a MongoDB server. Other clients of the server count too.
type server struct{ client *mongo.Client }

func connect(uri string) (server, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return server{}, fmt.Errorf("connect to MongoDB: %w", err)
	}
	return server{client}, nil
}

func (s server) close() error { return s.client.Disconnect(context.Background()) }

func (s server) read(ctx context.Context) (written, error) {
	var status struct {
		WiredTiger struct {
			Cursor map[string]any `bson:"cursor"`
			Log    map[string]any `bson:"log"`
		} `bson:"wiredTiger"`
	}
	if err := s.client.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status); err != nil {
		return written{}, fmt.Errorf("read the server's statistics: %w", err)
	}
	var w written
	for _, name := range []string{"cursor insert calls", "cursor update calls", "cursor modify calls", "cursor remove calls"} {
		w.keys += number(status.WiredTiger.Cursor[name])
	}
	w.bytes = number(status.WiredTiger.Log["log bytes written"])
	if w.keys == 0 {
		return w, errors.New("the server's statistics lack the calls of cursors: WiredTiger is needed")
	}
	return w, nil
}

func number(value any) float64 {
	switch n := value.(type) {
	case int32:
		return float64(n)
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}
