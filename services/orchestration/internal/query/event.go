package query

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// EventWindow is the length of the time window when the filter has no start.
const EventWindow = 180 * 24 * time.Hour

// EventOptions are the parameters of an EventFilter that the filter itself does not have.
type EventOptions struct {
	// Now is the default end of the window; EventWindow before it is the default start.
	Now time.Time
	// Vocabulary names the labels of a resource's id and role.
	Vocabulary vocabulary.Vocabulary
	// Workspace owns the events; it matters for filters by event id.
	Workspace uuid.UUID
	// AnyTime omits the time window. Set it only when no event lies outside of the window: an index alone can then
	// evaluate many filters.
	AnyTime bool
}

// CompileEvents compiles an EventFilter, without the workspace; nil is the filter without criteria. All criteria must
// hold. Empty lists are ignored, as in the reference, but a label without values matches nothing.
//
//	occurred              since ≤ occurred ≤ until
//	event                 names exactly; prefixes as they are (no wildcard, case kept); exclude_* none of them
//	resource.id           resource_id, exactly or by prefix; labels: see label
//	related               ONE related resource has the id, the role, one of resources_in_roles, and all labels;
//	                      several filters may be met by different ones
//	any_resource          the resource, or ONE related one, has the id, the prefix and all labels
//	id                    _id, which is the id or the CollisionKey of it and the workspace
//	text                  see compileText
//
// order and resource.distinct are not part of the filter: EventSort implements the first, and readers group by resource
// for the second.
//
// A stored event holds resource: [{k, v}] and related: [{labels: [{k, v}]}]. So one $elemMatch selects one resource,
// and a nested one selects one label of it. resource_id and resource_ids duplicate the ids for their indexes.
func CompileEvents(f *orchv1.EventFilter, o EventOptions) (bson.D, error) {
	e := eventFilter{id: o.Vocabulary.ResourceID(), role: o.Vocabulary.ResourceRole()}
	var kids []node
	for _, c := range []struct {
		name    string
		compile func() (node, error)
	}{
		{"occurred", func() (node, error) { return e.occurred(f.GetOccurred(), o) }},
		{"event", func() (node, error) { return e.names(f.GetEvent()) }},
		{"resource", func() (node, error) { return e.resource(f.GetResource()) }},
		{"related", func() (node, error) { return e.allRelated(f.GetRelated()) }},
		{"any_resource", func() (node, error) { return e.allAny(f.GetAnyResource()) }},
		{"id", func() (node, error) { return e.ids(f.GetId(), o.Workspace) }},
		{"text", func() (node, error) { return compileText(f.GetText().GetQuery(), eventTexts) }},
	} {
		n, err := c.compile()
		if err != nil {
			return nil, fmt.Errorf("query: %s: %w", c.name, err)
		}
		kids = append(kids, n)
	}
	return toBSON(and(kids...))
}

// EventSort returns the sort of an EventFilter: newest first by default.
func EventSort(order orchv1.EventOrder) bson.D {
	direction := -1
	if order == orchv1.EventOrder_EVENT_ORDER_ASC {
		direction = 1
	}
	return bson.D{{Key: "occurred", Value: direction}, {Key: "_id", Value: direction}}
}

// EventsBeyond restricts an event filter to what follows an event in an order: the rest of a page, which is tested on the keys. The
// bound of the time alone is a range of the index, so a page costs its events, however many precede it.
func EventsBeyond(filter bson.D, order orchv1.EventOrder, occurred int64, key bson.Binary) bson.D {
	within, beyond := "$lte", "$lt"
	if order == orchv1.EventOrder_EVENT_ORDER_ASC {
		within, beyond = "$gte", "$gt"
	}
	return bson.D{{Key: "$and", Value: bson.A{
		filter,
		bson.D{{Key: "occurred", Value: bson.D{{Key: within, Value: occurred}}}},
		bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "occurred", Value: bson.D{{Key: beyond, Value: occurred}}}},
			bson.D{{Key: "occurred", Value: occurred}, {Key: "_id", Value: bson.D{{Key: beyond, Value: key}}}},
		}}},
	}}}
}

// EventsUntil restricts an event filter to what an order has up to a time, inclusive.
func EventsUntil(filter bson.D, order orchv1.EventOrder, occurred int64) bson.D {
	within := "$gte"
	if order == orchv1.EventOrder_EVENT_ORDER_ASC {
		within = "$lte"
	}
	return allOf([]bson.D{filter, bson.D(criterion("occurred", within, occurred))})
}

// eventFilter compiles the parts of an EventFilter; id and role are the names of the labels.
type eventFilter struct{ id, role string }

func (eventFilter) occurred(f *orchv1.EventOccurredFilter, o EventOptions) (node, error) {
	if o.AnyTime {
		return matchAll{}, nil
	}
	since, until := o.Now.Add(-EventWindow).UnixMicro(), o.Now.UnixMicro()
	for _, b := range []struct {
		given *timestamppb.Timestamp
		to    *int64
	}{{f.GetSince(), &since}, {f.GetUntil(), &until}} {
		if b.given == nil {
			continue
		}
		if err := b.given.CheckValid(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOperand, err)
		}
		*b.to = b.given.AsTime().UnixMicro()
	}
	return match{{Key: "occurred", Value: bson.D{{Key: "$gte", Value: since}, {Key: "$lte", Value: until}}}}, nil
}

func (eventFilter) names(f *orchv1.EventNameFilter) (node, error) {
	var kids []node
	if names := f.GetName().GetValues(); len(names) > 0 {
		kids = append(kids, criterion("event", "$in", names))
	}
	if names := f.GetExcludeName().GetValues(); len(names) > 0 {
		kids = append(kids, criterion("event", "$nin", names))
	}
	n, err := prefixed("event", f.GetPrefix().GetValues())
	if err != nil {
		return nil, err
	}
	kids = append(kids, n)
	for _, prefix := range f.GetExcludePrefix().GetValues() {
		within, err := begins("event", prefix)
		if err != nil {
			return nil, err
		}
		kids = append(kids, match{{Key: "event", Value: not(within)}})
	}
	return and(kids...), nil
}

// prefixed matches values that begin with one of the prefixes; no prefixes match everything. The range can use an
// index.
func prefixed(path string, prefixes []string) (node, error) {
	kids := make([]node, len(prefixes))
	for i, prefix := range prefixes {
		within, err := begins(path, prefix)
		if err != nil {
			return nil, err
		}
		kids[i] = within
	}
	return or(kids...), nil
}

// anyBegins matches lists with a text that begins with one of the prefixes; no prefixes match everything.
func anyBegins(path string, prefixes []string) (node, error) {
	kids := make([]node, len(prefixes))
	for i, prefix := range prefixes {
		within, err := begins(path, prefix)
		if err != nil {
			return nil, err
		}
		kids[i] = criterion(path, "$elemMatch", within[0].Value)
	}
	return or(kids...), nil
}

// Begins is the filter of the documents with a text that begins with a prefix.
func Begins(path, prefix string) (bson.D, error) {
	within, err := begins(path, prefix)
	return bson.D(within), err
}

// begins matches texts that begin with a prefix.
func begins(path, prefix string) (match, error) {
	if len(prefix) > MaxPattern {
		return nil, fmt.Errorf("search for a prefix of %d bytes: %w", len(prefix), ErrLongText)
	}
	within := bson.D{{Key: "$gte", Value: prefix}}
	if end := afterPrefix(prefix); end != "" {
		within = append(within, bson.E{Key: "$lt", Value: end})
	}
	return match{{Key: path, Value: within}}, nil
}

// afterPrefix returns the smallest text after all texts that begin with the prefix, or "" if there is none. Texts are
// ordered by bytes, which in UTF-8 is the order of code points.
func afterPrefix(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case r == 0xD7FF: // The surrogates follow, which are not characters.
			return prefix + "\uE000"
		case r < utf8.MaxRune:
			return prefix + string(r+1)
		}
	}
	return ""
}

func (eventFilter) ids(f *orchv1.EventIdFilter, ws uuid.UUID) (node, error) {
	if len(f.GetId().GetValues()) == 0 {
		return matchAll{}, nil
	}
	var keys bson.A
	for _, text := range f.GetId().GetValues() {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOperand, err)
		}
		keys = append(keys, bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id[:]}, CollisionKey(ws, id))
	}
	return criterion("_id", "$in", keys), nil
}
