package command

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// request is one command during its execution.
type request struct {
	ctx      context.Context
	conn     int32
	m        *wire.Message
	name     string
	target   value.Value // The command's own value: mostly the collection's name.
	db       string
	now      int64 // Milliseconds: the time of the whole command.
	deadline time.Time
	slices   timeSlices
}

func (s *Service) newRequest(ctx context.Context, conn int32, m *wire.Message) (*request, error) {
	name, target := m.Body.First()
	r := &request{ctx: ctx, conn: conn, m: m, name: name, target: target, db: m.DB, now: s.e.Now().UnixMilli()}
	if v := m.Body.Get("$db"); v.T == bson.TypeString {
		r.db = v.Str()
	}
	if r.db == "" {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "the command names no database")
	}
	if v := m.Body.Get("maxTimeMS"); !v.IsMissing() {
		n, ok := v.Int()
		if !ok || n < 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "maxTimeMS must be a non-negative integer, not %s", value.Format(v))
		}
		if n > 0 {
			r.deadline = time.Now().Add(time.Duration(n) * time.Millisecond)
		}
	}
	return r, nil
}

// check rejects unknown options: no option is ever ignored.
func (r *request) check(options []string) error {
	if v := r.get("startTransaction"); !v.IsMissing() {
		return mongoerr.NotImplemented("transaction (startTransaction)")
	}
	it := r.m.Body.Iter()
	it.Next()
	for {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		name := string(k)
		if !general[name] && !has(options, name) {
			return mongoerr.NotImplemented("option %q of command %s", name, r.name)
		}
		switch name {
		case "collation":
			if err := checkCollation(v); err != nil {
				return err
			}
		case "let":
			if v.T == bson.TypeEmbeddedDocument && !v.Doc().Empty() {
				return mongoerr.NotImplemented("option \"let\" of command %s", r.name)
			}
		case "readConcern":
			if err := checkReadConcern(v); err != nil {
				return err
			}
		case "writeConcern":
			if _, err := journal(v); err != nil {
				return err
			}
		case "bypassDocumentValidation", "allowDiskUse", "noCursorTimeout":
			// These have no effect here: there is no validation and no spilling, and only idle cursors expire.
		}
	}
	for name := range r.m.Sequences {
		if !has(options, name) {
			return mongoerr.NotImplemented("document sequence %q of command %s", name, r.name)
		}
	}
	return nil
}

func has(list []string, s string) bool {
	return slices.Contains(list, s)
}

func checkCollation(v value.Value) error {
	if v.T == bson.TypeEmbeddedDocument && (v.Doc().Empty() || v.Doc().Get("locale").Str() == "simple" && v.Doc().Len() == 1) {
		return nil
	}
	return mongoerr.NotImplemented("collation %s", value.Format(v))
}

func checkReadConcern(v value.Value) error {
	if v.T != bson.TypeEmbeddedDocument {
		return mongoerr.New(mongoerr.TypeMismatch, "readConcern must be an object")
	}
	for it := v.Doc().Iter(); ; {
		k, l, ok := it.Next()
		if !ok {
			return nil
		}
		if string(k) == "level" {
			switch l.Str() {
			case "local", "majority", "available", "linearizable":
				continue
			}
			return mongoerr.NotImplemented("readConcern level %s", value.Format(l))
		}
		if string(k) != "provenance" {
			return mongoerr.NotImplemented("readConcern option %q", k)
		}
	}
}

// majority reports whether the reply must only have data that is on disk.
func (r *request) majority() bool {
	v := r.get("readConcern")
	if v.T != bson.TypeEmbeddedDocument {
		return false
	}
	level := v.Doc().Get("level").Str()
	return level == "majority" || level == "linearizable"
}

// journal reads a write concern: whether the reply waits for fsync. A missing write concern waits.
func journal(v value.Value) (bool, error) {
	if v.IsMissing() {
		return true, nil
	}
	if v.T != bson.TypeEmbeddedDocument {
		return false, mongoerr.New(mongoerr.TypeMismatch, "writeConcern must be an object")
	}
	wait := true
	for it := v.Doc().Iter(); ; {
		k, x, ok := it.Next()
		if !ok {
			return wait, nil
		}
		switch string(k) {
		case "w":
			if x.T == bson.TypeString && x.Str() == "majority" {
				continue
			}
			n, ok := x.Int()
			if !ok || n < 0 || n > 1 {
				return false, mongoerr.NotImplemented("writeConcern w: %s", value.Format(x))
			}
			wait = wait && n > 0
		case "j":
			if !x.Truthy() {
				wait = false
			}
		case "wtimeout", "provenance":
		default:
			return false, mongoerr.NotImplemented("writeConcern option %q", k)
		}
	}
}

func (r *request) journal() (bool, error) { return journal(r.m.Body.Get("writeConcern")) }

func (r *request) get(name string) value.Value { return r.m.Body.Get(name) }

// collection is the collection name in the command's own field.
func (r *request) collection() (string, error) {
	if r.target.T != bson.TypeString || r.target.Str() == "" {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "command %s needs a collection's name, not %s", r.name, value.Format(r.target))
	}
	return r.target.Str(), nil
}

// docs reads an array of documents, sent in the body or beside it.
func (r *request) docs(name string) ([]value.Doc, error) {
	if seq, ok := r.m.Sequences[name]; ok {
		return seq, nil
	}
	v := r.get(name)
	if v.T != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "field %q of command %s must be an array", name, r.name)
	}
	return docList(name, v)
}

func docList(name string, v value.Value) ([]value.Doc, error) {
	var out []value.Doc
	for _, e := range v.Doc().Values() {
		if e.T != bson.TypeEmbeddedDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "elements of %q must be objects", name)
		}
		out = append(out, e.Doc())
	}
	return out, nil
}

// document reads an optional document.
func document(v value.Value, name string) (value.Doc, error) {
	switch v.T {
	case value.Missing, bson.TypeNull:
		return value.EmptyDoc, nil
	case bson.TypeEmbeddedDocument:
		return v.Doc(), nil
	}
	return nil, mongoerr.New(mongoerr.TypeMismatch, "field %q must be an object, not %s", name, value.TypeName(v.T))
}

func number(v value.Value, name string) (int64, error) {
	if v.IsNullish() {
		return 0, nil
	}
	n, ok := v.Int()
	if !ok {
		return 0, mongoerr.New(mongoerr.FailedToParse, "field %q must be an integer, not %s", name, value.Format(v))
	}
	return n, nil
}

func natural(v value.Value, name string) (int64, error) {
	n, err := number(v, name)
	if err == nil && n < 0 {
		return 0, mongoerr.New(mongoerr.Kind{Code: 51024, Name: "Location51024"}, "field %q must not be negative: %d", name, n)
	}
	return n, err
}

func (r *request) filter(v value.Value, name string) (*filter.Filter, error) {
	d, err := document(v, name)
	if err != nil {
		return nil, err
	}
	return filter.Compile(d)
}

func sortOf(v value.Value) (*index.Sort, error) {
	d, err := document(v, "sort")
	if err != nil || d.Empty() {
		return nil, err
	}
	return index.CompileSort(d)
}

// context ends with maxTimeMS, or when the server closes. Then ended returns an error.
func (r *request) context() (context.Context, context.CancelFunc) {
	if r.deadline.IsZero() {
		return context.WithCancel(r.ctx)
	}
	return context.WithDeadline(r.ctx, r.deadline)
}

// expired is ended for a long read, which also waits for its turn.
func (r *request) expired() error {
	if err := r.ended(); err != nil {
		return err
	}
	return r.slices.next(r.ctx, r.deadline)
}

// ended returns an error once the command exceeded maxTimeMS, the client of a read has gone, or the server closes.
func (r *request) ended() error {
	if r.m.Abandoned.Load() && r.reads() {
		return mongoerr.New(mongoerr.ClientDisconnect, "the client closed the connection")
	}
	if !r.deadline.IsZero() && time.Now().After(r.deadline) {
		return mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
	}
	if r.ctx.Err() != nil {
		return mongoerr.New(mongoerr.ShutdownInProgress, "server is closing")
	}
	return nil
}

// reads reports whether nothing is lost when the command ends early. A write continues without its client, as in MongoDB.
func (r *request) reads() bool {
	switch r.name {
	case "find", "getMore", "aggregate", "count", "distinct":
		return true
	}
	return false
}
