package embeddedmongo

import (
	"bytes"
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/command"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// FindOne executes the find command without a connection, for at most one document. An empty projection returns whole
// documents. With majority the reply has only data that is on disk. Reply and errors are as for Insert. The filter must fix the _id,
// because the command itself does not end with ctx.
func (d Dialer) FindOne(ctx context.Context, database, collection string, filter, projection bson.Raw, majority bool) (bson.Raw, error) {
	list, err := valid([]bson.Raw{filter})
	if err != nil {
		return nil, fmt.Errorf("execute find: filter %w", err)
	}
	level := value.OfString("local")
	if majority {
		level = value.OfString("majority")
	}
	body := value.NewBuilder().Add("find", value.OfString(collection)).Add("filter", value.OfDoc(list[0])).
		Int32("limit", 1).Add("singleBatch", value.True)
	body.Open("readConcern", bson.TypeEmbeddedDocument).Add("level", level).Close()
	if len(projection) > 0 {
		body.Add("projection", value.OfDoc(value.Doc(projection)))
	}
	reply, err := d.execute(ctx, &wire.Message{DB: database, Body: body.Done()})
	if err != nil {
		return nil, err
	}
	own := bytes.Clone(reply)
	command.Release(value.Doc(reply))
	return own, nil
}
