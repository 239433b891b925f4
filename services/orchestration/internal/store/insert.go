package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// commandSize bounds the documents of one command, in bytes: the command must fit into a document itself.
const commandSize = 8 << 20

// Refusal is a document of a batch that the database refused. The others of the batch are stored.
type Refusal struct {
	// Position is the document's position in the batch.
	Position int
	Err      error
}

// insertMany inserts documents. It returns the positions of documents with duplicate unique keys, and the documents that the
// database refuses for another reason. After an error, any of the documents may be stored.
//
// It sends the raw command, because the driver's API copies each document and decodes its id again. The driver's retry
// of a lost write is missing here; a caller may repeat the call, because documents are identified by their ids.
func (c *Collection[M]) insertMany(ctx context.Context, docs []bson.Raw) (taken []int, refused []Refusal, err error) {
	for first := 0; first < len(docs); {
		size, last := 0, first
		for last < len(docs) && (last == first || size+len(docs[last]) <= commandSize) {
			size += len(docs[last])
			last++
		}
		met, bad, err := c.insertRange(ctx, docs, first, last)
		if err != nil {
			return nil, nil, fmt.Errorf("insert %d %ss: %w", len(docs), c.Name(), err)
		}
		taken, refused = append(taken, met...), append(refused, bad...)
		first = last
	}
	return taken, refused, nil
}

// insertRange writes documents with one command. When the server refuses the command for good, one of its documents is the
// reason: it halves them until that one is alone.
func (c *Collection[M]) insertRange(ctx context.Context, docs []bson.Raw, first, last int) (taken []int, refused []Refusal, err error) {
	err = c.runInsertion(ctx, docs[first:last])
	taken, refused, err = splitWriteErrors(err)
	switch {
	case err == nil:
		for i := range taken {
			taken[i] += first
		}
		for i := range refused {
			refused[i].Position += first
		}
		return taken, refused, nil
	case !IsPermanent(err):
		return nil, nil, outage(err)
	case last-first == 1:
		return nil, []Refusal{{Position: first, Err: err}}, nil
	}
	middle := first + (last-first)/2
	for _, half := range [][2]int{{first, middle}, {middle, last}} {
		met, bad, err := c.insertRange(ctx, docs, half[0], half[1])
		if err != nil {
			return nil, nil, err
		}
		taken, refused = append(taken, met...), append(refused, bad...)
	}
	return taken, refused, nil
}

// insertAll is insertMany for callers that cannot store a part: the first refusal is their error.
func (c *Collection[M]) insertAll(ctx context.Context, docs []bson.Raw) (taken []int, err error) {
	taken, refused, err := c.insertMany(ctx, docs)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("insert %d %ss: %w", len(docs), c.Name(), refused[0].Err)
	}
	return taken, err
}

// prepare does what precedes an insertion: it opens the hours of the documents, and adds their names to the dictionary.
func (c *Collection[M]) prepare(ctx context.Context, docs []bson.Raw) error {
	if err := c.nameDocuments(ctx, docs); err != nil {
		return err
	}
	return c.openDocuments(ctx, docs)
}

// insertions holds *[]byte of commands that insert documents. The driver copies a command before it sends it.
var insertions = sync.Pool{New: func() any { return new([]byte) }}

// maxInsertion bounds the memory of a command that is reused, in bytes: large batches are rare.
const maxInsertion = 4 << 20

// runInsertion executes the command that inserts documents.
func (c *Collection[M]) runInsertion(ctx context.Context, docs []bson.Raw) error {
	if err := c.prepare(ctx, docs); err != nil {
		return err
	}
	if d := c.store.direct; d != nil {
		return d.insert(ctx, c.mongo.Database().Name(), c.mongo.Name(), docs)
	}
	buffer := insertions.Get().(*[]byte)
	cmd := c.appendInsertion((*buffer)[:0], docs)
	err := c.mongo.Database().RunCommand(ctx, cmd).Err()
	if cap(cmd) <= maxInsertion {
		*buffer = cmd
		insertions.Put(buffer)
	}
	return err
}

// appendInsertion appends the command that inserts documents, with the write concern of all writes.
func (c *Collection[M]) appendInsertion(cmd []byte, docs []bson.Raw) bson.Raw {
	const around = 8 // An element's type and name.
	size := 0
	for _, doc := range docs {
		size += len(doc)
	}
	start, cmd := bsoncore.AppendDocumentStart(slices.Grow(cmd, size+around*len(docs)+160))
	cmd = bsoncore.AppendStringElement(cmd, "insert", c.mongo.Name())
	cmd = bsoncore.AppendBooleanElement(cmd, "ordered", false)
	concern, cmd := bsoncore.AppendDocumentElementStart(cmd, "writeConcern")
	cmd = bsoncore.AppendStringElement(cmd, "w", "majority")
	cmd = end(bsoncore.AppendBooleanElement(cmd, "j", true), concern)
	list, cmd := bsoncore.AppendArrayElementStart(cmd, "documents")
	for i, doc := range docs {
		cmd = bsoncore.AppendDocumentElement(cmd, strconv.Itoa(i), bsoncore.Document(doc))
	}
	return end(end(cmd, list), start)
}

// splitWriteErrors splits the error of a bulk write. It returns the positions of documents with duplicate unique keys, the
// documents that the database refuses for another reason, and any other error.
func splitWriteErrors(err error) (taken []int, refused []Refusal, _ error) {
	var errs []mongo.WriteError
	var bulk mongo.BulkWriteException
	var one mongo.WriteException
	switch {
	case errors.As(err, &bulk) && bulk.WriteConcernError == nil:
		for _, e := range bulk.WriteErrors {
			errs = append(errs, e.WriteError)
		}
	case errors.As(err, &one) && one.WriteConcernError == nil:
		errs = one.WriteErrors
	default:
		return nil, nil, err
	}
	for _, e := range errs {
		switch {
		case mongo.IsDuplicateKeyError(e):
			taken = append(taken, e.Index)
		case InDoubt(outage(e)):
			return nil, nil, e
		default:
			e.Details = nil // They may quote the document.
			refused = append(refused, Refusal{Position: e.Index, Err: e})
		}
	}
	return taken, refused, nil
}
