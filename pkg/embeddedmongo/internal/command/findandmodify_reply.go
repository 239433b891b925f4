package command

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/project"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// findAndModifyReply builds the reply of findAndModify: the document before or after the change, and lastErrorObject.
func findAndModifyReply(ch *change, out outcome, proj *project.Projection, after bool) (*value.Builder, error) {
	b := value.NewBuilder().Open("lastErrorObject", bson.TypeEmbeddedDocument)
	n := int32(out.matched)
	if !out.upserted.IsMissing() {
		n = 1
	}
	b.Int32("n", n)
	if ch.update != nil {
		b.Add("updatedExisting", value.OfBool(out.matched > 0)).Add("upserted", out.upserted)
	}
	b.Close()
	d := out.before
	if after {
		d = out.after
	}
	if d == nil {
		return b.Add("value", value.Null), nil
	}
	if proj != nil {
		pos := -1
		if proj.Positions {
			pos = out.pos
		}
		var err error
		if d, err = proj.Apply(d, pos); err != nil {
			return nil, err
		}
	}
	return b.Add("value", value.OfDoc(d)), nil
}
