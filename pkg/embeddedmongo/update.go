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

// execute executes a command without a connection.
func (d Dialer) execute(ctx context.Context, m *wire.Message) (bson.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := d.s
	if !s.begin() {
		return nil, ErrClosed
	}
	defer s.wg.Done()
	reply := s.service.Handle(s.ctx, inProcess, m)
	if reply == nil {
		return nil, ErrClosed // A fail point closed the connection.
	}
	return bson.Raw(reply), nil
}
