package embeddedmongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// Insert executes the insert command for many documents without a connection: unordered, and durable before it returns. A driver
// copies each document about five times on its way into the store; Insert copies it once. It returns the reply of the command,
// as a driver would receive it. An error means that the command was not executed (a malformed document), or that its outcome is unknown
// (ErrClosed, the error of ctx).
//
// When ctx ends, Insert returns. A command that has begun completes all the same, as in MongoDB, and reads the documents until then: the
// caller never changes them after such an error. Otherwise the store retains no document.
func (d Dialer) Insert(ctx context.Context, database, collection string, docs []bson.Raw) (bson.Raw, error) {
	list, err := valid(docs)
	if err != nil {
		return nil, fmt.Errorf("insert document %w", err)
	}
	return d.execute(ctx, &wire.Message{
		DB: database,
		Body: value.NewBuilder().Add("insert", value.OfString(collection)).Add("ordered", value.False).
			Add("writeConcern", value.OfDoc(value.NewBuilder().Add("w", value.OfString("majority")).Add("j", value.True).Done())).Done(),
		Sequences: map[string][]value.Doc{"documents": list},
	})
}

// inProcess is the connection number of commands without a connection.
const inProcess = 0

// begin registers a command in progress, for which Close waits. The caller then calls wg.Done. It reports false on a closed
// server.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}
