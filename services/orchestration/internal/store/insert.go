package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// commandSize bounds the documents of one command, in bytes: the command must fit into a document itself.
const commandSize = 8 << 20

// insertMany inserts the documents whose unique keys are free and returns the positions of the others.
//
// It sends the raw command, because the driver's API copies each document and decodes its id again. The driver's retry
// of a lost write is missing here; a caller may repeat the call, because documents are identified by their ids.
func (c *Collection[M]) insertMany(ctx context.Context, docs []bson.Raw) (taken []int, err error) {
	for first := 0; first < len(docs); {
		size, last := 0, first
		for last < len(docs) && (last == first || size+len(docs[last]) <= commandSize) {
			size += len(docs[last])
			last++
		}
		met, err := duplicates(c.mongo.Database().RunCommand(ctx, c.insertion(docs[first:last], size)).Err())
		if err != nil {
			return nil, fmt.Errorf("insert %d %ss: %w", len(docs), c.Name(), outage(err))
		}
		for _, i := range met {
			taken = append(taken, first+i)
		}
		first = last
	}
	return taken, nil
}

// insertion is the command that inserts documents, with the write concern of all writes.
func (c *Collection[M]) insertion(docs []bson.Raw, size int) bson.Raw {
	const around = 8 // An element's type and name.
	start, cmd := bsoncore.AppendDocumentStart(make([]byte, 0, size+around*len(docs)+160))
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

// duplicates splits the error of a bulk write into the positions of documents with duplicate unique keys, and any other
// error.
func duplicates(err error) ([]int, error) {
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
		return nil, err
	}
	taken := make([]int, len(errs))
	for i, e := range errs {
		if !mongo.IsDuplicateKeyError(e) {
			return nil, e
		}
		taken[i] = e.Index
	}
	return taken, nil
}
