package events

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// errToken means that this server did not issue a page token.
var errToken = errors.New("unknown page token")

// position is the start of a page, which the token of the previous page carries. It holds the filter with fixed times,
// so the pages are parts of one list although new events arrive.
type position struct {
	filter *orchv1.EventFilter
	// Limit is the page size, total the number of matching events when the first page was read.
	limit, total int64
	// After is the last event of the previous page: its time in microseconds, its id, and whether it is stored under a
	// shared key.
	afterOccurred int64
	afterID       uuid.UUID
	afterShared   bool
	// Seen is the number of resources on the previous pages, for a filter with distinct resources.
	seen int64
}

// goOnAfter moves the position after an event.
func (p *position) goOnAfter(e *orchv1.ReceivedEvent) error {
	id, err := resourceid.Parse(e.GetId())
	if err != nil {
		return err
	}
	p.afterOccurred, p.afterID, p.afterShared = e.GetOccurred().AsTime().UnixMicro(), id, e.GetSharedId()
	return nil
}

// goOnAtEdge moves the position behind all events of a time. Its id is below the id of every event.
func (p *position) goOnAtEdge(occurred int64) {
	p.afterOccurred, p.afterID, p.afterShared = occurred, uuid.UUID{15: 1}, false
	if p.filter.GetOrder() == orchv1.EventOrder_EVENT_ORDER_ASC {
		p.afterOccurred++
	}
}

// restOf restricts a filter to the events from the position on.
func (p position) restOf(ws uuid.UUID, compiled bson.D) bson.D {
	if p.afterID == uuid.Nil {
		return compiled
	}
	return query.EventsBeyond(compiled, p.filter.GetOrder(), p.afterOccurred, p.afterKey(ws))
}

// afterKey is the document key of the last event of the previous page.
func (p position) afterKey(ws uuid.UUID) bson.Binary {
	if p.afterShared {
		return query.CollisionKey(ws, p.afterID)
	}
	return store.Binary(p.afterID)
}

type tokenForm struct {
	Filter   json.RawMessage `json:"f"`
	Limit    int64           `json:"n"`
	Total    int64           `json:"t"`
	Occurred int64           `json:"o"`
	ID       uuid.UUID       `json:"i"`
	Shared   bool            `json:"k,omitempty"`
	Seen     int64           `json:"s,omitempty"`
}

// token encodes the position for a URL.
func (p position) token() (string, error) {
	filter, err := restjson.Marshal(p.filter)
	if err != nil {
		return "", fmt.Errorf("make a page token: %w", err)
	}
	text, err := json.Marshal(tokenForm{filter, p.limit, p.total, p.afterOccurred, p.afterID, p.afterShared, p.seen})
	if err != nil {
		return "", fmt.Errorf("make a page token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// readToken decodes a position. A forged token is harmless: it is a filter like any other.
func readToken(token string) (position, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return position{}, errors.Join(errToken, err)
	}
	var form tokenForm
	if err := json.Unmarshal(text, &form); err != nil {
		return position{}, errors.Join(errToken, err)
	}
	p := position{
		filter: &orchv1.EventFilter{}, limit: form.Limit, total: form.Total,
		afterOccurred: form.Occurred, afterID: form.ID, afterShared: form.Shared, seen: form.Seen,
	}
	if err := restjson.Unmarshal(form.Filter, p.filter); err != nil {
		return position{}, errors.Join(errToken, err)
	}
	if p.limit < 1 || p.limit > maxPage || p.seen < 0 || p.filter.GetOccurred().GetUntil() == nil {
		return position{}, errToken
	}
	return p, nil
}
