package embeddedmongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// Update executes the update command without a connection, unordered. Each update is an element of that command: {q, u}. With
// journal it is durable before it returns, otherwise its write concern is {w: 1, j: false}. Reply, errors and the end of ctx are
// as for Insert. The store retains no update.
func (d Dialer) Update(ctx context.Context, database, collection string, updates []bson.Raw, journal bool) (bson.Raw, error) {
	concern := value.NewBuilder().Int32("w", 1).Add("j", value.False)
	if journal {
		concern = value.NewBuilder().Add("w", value.OfString("majority")).Add("j", value.True)
	}
	list, err := valid(updates)
	if err != nil {
		return nil, fmt.Errorf("execute update %w", err)
	}
	return d.execute(ctx, &wire.Message{
		DB: database,
		Body: value.NewBuilder().Add("update", value.OfString(collection)).Add("ordered", value.False).
			Add("writeConcern", value.OfDoc(concern.Done())).Done(),
		Sequences: map[string][]value.Doc{"updates": list},
	})
}

// valid checks the documents of a command.
func valid(docs []bson.Raw) ([]value.Doc, error) {
	list := make([]value.Doc, len(docs))
	for i, doc := range docs {
		if err := value.Validate(value.Doc(doc)); err != nil {
			return nil, fmt.Errorf("%d of %d: %w", i+1, len(docs), err)
		}
		list[i] = value.Doc(doc)
	}
	return list, nil
}

// maxCommands bounds the commands that are executed without a connection at once, so those that a stalled disk keeps take a bounded
// amount of memory.
const maxCommands = 1024

// execute executes a command without a connection. When ctx ends first, it returns the error of ctx: the outcome of the command is then
// unknown, and the command may read its documents until the server is closed.
func (d Dialer) execute(ctx context.Context, m *wire.Message) (bson.Raw, error) {
	s := d.s
	select {
	case s.commands <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		<-s.commands
		return nil, err
	}
	if !s.begin() {
		<-s.commands
		return nil, ErrClosed
	}
	replies := make(chan value.Doc, 1)
	go func() {
		defer s.wg.Done()
		defer func() { <-s.commands }()
		replies <- s.service.Handle(s.ctx, inProcess, m)
	}()
	select {
	case reply := <-replies:
		if reply == nil {
			return nil, ErrClosed // A fail point closed the connection.
		}
		return bson.Raw(reply), nil
	case <-ctx.Done():
		m.Abandoned.Store(true) // A read ends.
		return nil, ctx.Err()
	}
}
