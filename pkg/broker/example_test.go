package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
)

// An event is published to an embedded broker, and consumed.
func Example() {
	dir, err := os.MkdirTemp("", "orch")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	quiet := slog.New(slog.DiscardHandler)
	server, err := embeddednats.Start(embeddednats.Options{Dir: dir, Logger: quiet})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	conn, err := broker.Connect(ctx, broker.Config{InProcess: server.InProcess(), Logger: quiet})
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	err = conn.Publisher().Publish(ctx, broker.Event{
		ID:        uuid.Must(uuid.NewV7()),
		Source:    "/example",
		Type:      "orch.flow-run.Completed",
		Workspace: uuid.New(),
		Data:      json.RawMessage(`{"run_count": 1}`),
	})
	fmt.Println("stored:", err == nil)

	err = conn.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{},
		func(_ context.Context, batch []broker.Event) error {
			for _, e := range batch {
				fmt.Println(e.Type, string(e.Data))
			}
			cancel() // One batch is enough for an example.
			return nil
		})
	fmt.Println("ended:", err)
	// Output:
	// stored: true
	// orch.flow-run.Completed {"run_count": 1}
	// ended: <nil>
}
