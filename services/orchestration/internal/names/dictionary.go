package names

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// CollectionName is the collection of the terms.
const CollectionName = "term"

const (
	// maxTerms bounds the terms of a workspace and a kind.
	maxTerms = 200_000
	// maxKnown bounds the terms that a process remembers, 60 bytes each.
	maxKnown = 50_000
	// writeTimeout bounds the insertion of terms, which several writers share.
	writeTimeout = 5 * time.Second
)

// kinds are the collections whose documents have names in the dictionary, each with the byte that stands for it.
var kinds = map[query.Collection]byte{query.FlowRun: 'f', query.TaskRun: 't'}

// Has reports whether the names of a collection's documents are in the dictionary.
func Has(c query.Collection) bool { return kinds[c] != 0 }

// gramsIndex are the keys of the index by which a search finds terms.
var gramsIndex = bson.D{{Key: "ws", Value: 1}, {Key: "kind", Value: 1}, {Key: "grams", Value: 1}}

// Dictionary is the distinct names of all workspaces. It is safe for concurrent use.
type Dictionary struct {
	terms    *mongo.Collection
	complete atomic.Bool
	most     int64 // maxTerms, except in tests.

	mu      sync.Mutex
	known   map[termID]struct{} // Terms that are stored.
	sizes   map[scope]int64     // The number of terms, or more than most.
	next    *batch              // Terms that the next insertion has; nil for none.
	writing chan struct{}       // Holds an element during an insertion.
}

// New returns the dictionary of a database. It serves no search until Complete.
func New(db *mongo.Database) *Dictionary {
	return &Dictionary{
		terms: db.Collection(CollectionName), most: maxTerms,
		known: map[termID]struct{}{}, sizes: map[scope]int64{}, writing: make(chan struct{}, 1),
	}
}

// Complete tells the dictionary that it has the names of all documents, and that all servers add those of new ones.
func (d *Dictionary) Complete() { d.complete.Store(true) }

// IsComplete reports whether Complete was called.
func (d *Dictionary) IsComplete() bool { return d.complete.Load() }

// Ensure creates the index of the terms.
func (d *Dictionary) Ensure(ctx context.Context) error {
	if _, err := d.terms.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: gramsIndex}); err != nil {
		return fmt.Errorf("create index of names: %w", err)
	}
	return nil
}

// scope is the names of a workspace and a kind.
type scope struct {
	ws   uuid.UUID
	kind byte
}

// termID is the _id of a term: the scope, and a hash of the name. The scope alone is the _id of its mark.
type termID [16 + 1 + 16]byte

func (s scope) prefix() []byte { return append(s.ws[:len(s.ws):len(s.ws)], s.kind) }

func (s scope) id(name string) (id termID) {
	hash := sha256.Sum256([]byte(name))
	copy(id[copy(id[:], s.prefix()):], hash[:])
	return id
}

// all is the condition on the _id for the terms of the scope, without its mark.
func (s scope) all() bson.D {
	return bson.D{{Key: "$gte", Value: bson.Binary{Data: append(s.prefix(), make([]byte, 16)...)}}, {Key: "$lt", Value: bson.Binary{Data: append(s.prefix(), bytes16...)}}}
}

// mark is the _id of the document that says that the scope has names without a term.
func (s scope) mark() bson.Binary { return bson.Binary{Data: append(s.prefix(), bytes16...)} }

// bytes16 is not less than any hash.
var bytes16 = []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}

// term is a stored name.
type term struct {
	ID    bson.Binary `bson:"_id"`
	WS    bson.Binary `bson:"ws"`
	Kind  string      `bson:"kind"`
	Name  string      `bson:"name"`
	Grams []int32     `bson:"grams"`
}

// Add stores the names that documents of a workspace are about to get. It returns once they are stored, or the scope is marked. So a
// search finds each document whose write was acknowledged.
func (d *Dictionary) Add(ctx context.Context, ws uuid.UUID, c query.Collection, list ...string) error {
	s := scope{ws, kinds[c]}
	if s.kind == 0 {
		return nil
	}
	unknown := d.unknown(s, list)
	if len(unknown) == 0 {
		return nil
	}
	full, err := d.full(ctx, s)
	if err == nil && !full {
		err = d.insert(ctx, s, unknown)
	}
	if err != nil {
		return fmt.Errorf("add %d names of %ss: %w", len(unknown), c, err)
	}
	return nil
}

// unknown returns the names that this process has not stored.
func (d *Dictionary) unknown(s scope, list []string) (unknown []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range list {
		if _, ok := d.known[s.id(name)]; !ok && name != "" {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// full reports whether a scope gets no further terms. It has its mark then.
func (d *Dictionary) full(ctx context.Context, s scope) (bool, error) {
	d.mu.Lock()
	n, counted := d.sizes[s]
	d.mu.Unlock()
	if counted && n <= d.most {
		return false, nil
	}
	if !counted {
		var err error
		if n, err = d.terms.CountDocuments(ctx, bson.D{{Key: "_id", Value: s.all()}}, options.Count().SetLimit(d.most+1)); err != nil {
			return false, err
		}
	}
	if n > d.most {
		_, err := d.terms.InsertOne(ctx, bson.D{{Key: "_id", Value: s.mark()}})
		if err != nil && !mongo.IsDuplicateKeyError(err) {
			return false, err
		}
		n = d.most + 1
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sizes[s] = n
	return n > d.most, nil
}

// batch is terms that one insertion stores. The callers that wait for it share its error.
type batch struct {
	docs []any
	ids  []termID
	size map[scope]int64
	done chan struct{}
	err  error
}

// insert stores terms together with those of others who wait: one insertion is in progress at a time.
func (d *Dictionary) insert(ctx context.Context, s scope, list []string) error {
	d.mu.Lock()
	b := d.next
	leads := b == nil
	if leads {
		b = &batch{size: map[scope]int64{}, done: make(chan struct{})}
		d.next = b
	}
	for _, name := range list {
		id := s.id(name)
		b.ids = append(b.ids, id)
		b.docs = append(b.docs, term{
			ID: bson.Binary{Data: id[:]}, WS: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: s.ws[:]},
			Kind: string(s.kind), Name: name, Grams: gramsOf(name),
		})
	}
	b.size[s] += int64(len(list))
	d.mu.Unlock()
	if leads {
		go d.write(context.WithoutCancel(ctx), b) // A waiting caller is not cancelled with the first one.
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write stores a batch once the one before is stored.
func (d *Dictionary) write(ctx context.Context, b *batch) {
	defer close(b.done)
	d.writing <- struct{}{}
	defer func() { <-d.writing }()
	d.mu.Lock()
	d.next = nil
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if _, err := d.terms.InsertMany(ctx, b.docs, options.InsertMany().SetOrdered(false)); err != nil && !onlyDuplicates(err) {
		b.err = err
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known)+len(b.ids) > maxKnown {
		clear(d.known)
	}
	for _, id := range b.ids {
		d.known[id] = struct{}{}
	}
	for s, n := range b.size { // Duplicates count too: a process counts anew when it is at the bound.
		have, counted := d.sizes[s]
		switch {
		case counted && have+n <= d.most:
			d.sizes[s] = have + n
		case counted:
			delete(d.sizes, s)
		}
	}
}

// onlyDuplicates reports whether an insertion failed for terms that exist, and for no other reason.
func onlyDuplicates(err error) bool {
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil {
		return false
	}
	for _, e := range bulk.WriteErrors {
		if !mongo.IsDuplicateKeyError(e.WriteError) {
			return false
		}
	}
	return true
}

// Clear removes the names of a workspace whose documents were removed.
func (d *Dictionary) Clear(ctx context.Context, ws uuid.UUID) error {
	for c, kind := range kinds {
		s := scope{ws, kind}
		if _, err := d.terms.DeleteMany(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: s.all()[0].Value}, {Key: "$lte", Value: s.mark()}}}}); err != nil {
			return fmt.Errorf("delete names of %ss: %w", c, err)
		}
		d.mu.Lock()
		delete(d.sizes, s)
		clear(d.known)
		d.mu.Unlock()
	}
	return nil
}
