package action

import (
	"context"
	"encoding/json"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// block is a block document with its secrets, as an action uses it.
type block struct {
	id, name string
	kind     string // The slug of its type.
	data     map[string]any
}

// readBlock reads a block document, or says in the result why it cannot be used.
func (r *Runner) readBlock(ctx context.Context, o *result, action, id string) (*block, bool) {
	response, ok := r.call(ctx, o, orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName,
		&orchv1.ReadBlockDocumentRequest{Id: id, IncludeSecrets: true}, action)
	delete(o.details, "status_code")
	if !ok {
		return nil, false
	}
	document, ok := response.(*orchv1.BlockDocument)
	if !ok {
		o.fail("The server has no such block document.")
		return nil, false
	}
	b := &block{id: id, name: document.GetName(), kind: document.GetBlockType().GetSlug(), data: map[string]any{}}
	if err := json.Unmarshal(document.GetData(), &b.data); err != nil {
		o.fail("The block document cannot be read.")
		return nil, false
	}
	return b, true
}

// relateBlock adds a block that an action uses to its events.
func (r *Runner) relateBlock(o *result, b *block) {
	r.relate(o, "block-document", b.id, "block", b.name)
	r.relate(o, "block-type", b.kind, "block-type", "")
}

// text returns a text of the block's data, empty if there is none.
func (b *block) text(key string) string {
	text, _ := b.data[key].(string)
	return text
}

// texts returns a list of texts of the block's data.
func (b *block) texts(key string) []string {
	list, _ := b.data[key].([]any)
	var texts []string
	for _, one := range list {
		if text, ok := one.(string); ok && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// object returns an object of the block's data.
func (b *block) object(key string) map[string]any {
	object, _ := b.data[key].(map[string]any)
	return object
}

// refusesPrivate reports whether the block forbids addresses of private networks.
func (b *block) refusesPrivate() bool {
	permitted, set := b.data["allow_private_urls"].(bool)
	return set && !permitted
}

func (b *block) flag(key string) bool {
	flag, _ := b.data[key].(bool)
	return flag
}
