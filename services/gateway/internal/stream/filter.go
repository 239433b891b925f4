package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
)

// maxFilter is the maximum size of a filter in bytes.
const maxFilter = 256 << 10

// readFilter reads a subscriber's first message {"type":"filter","filter":{…}} and decodes its filter into f.
func (k *socket) readFilter(ctx context.Context, f proto.Message) (backfill bool, end closeReason) {
	var first struct {
		Type     string          `json:"type"`
		Filter   json.RawMessage `json:"filter"`
		Backfill *bool           `json:"backfill"`
	}
	refuse := func(reason string) (bool, closeReason) {
		return false, closeReason{websocket.StatusProtocolError, reason}
	}
	if end := k.hello(ctx, helloTimeout, &first, websocket.StatusProtocolError, "Expected 'filter' message"); !end.ok() {
		return false, end
	}
	if first.Type != "filter" {
		return refuse("Expected 'filter' message")
	}
	if len(first.Filter) == 0 {
		return refuse("Invalid filter: it is missing")
	}
	if err := restjson.Unmarshal(first.Filter, f); err != nil {
		return refuse("Invalid filter: " + counted(err) + err.Error())
	}
	return first.Backfill == nil || *first.Backfill, closeReason{}
}

// counted prefixes field errors with their number, because the reason of a close frame may be truncated.
func counted(err error) string {
	var fieldErrors *restjson.Errors
	if !errors.As(err, &fieldErrors) {
		return ""
	}
	if n := len(fieldErrors.List); n != 1 {
		return fmt.Sprintf("%d validation errors: ", n)
	}
	return "1 validation error: "
}
