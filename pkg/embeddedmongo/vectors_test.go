package embeddedmongo_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
)

// vectors holds the cases: commands and the replies of MongoDB 4.4, as extended JSON, one case a line.
const vectors = "testdata/vectors.jsonl.gz"

// listedDifferences names the cases in which the embedded server deliberately differs from the recorded replies. Each
// has a reason and the version of MongoDB that replies as the embedded server does.
var listedDifferences = map[string]string{}

// vector is one case: the commands run one after the other in one database, the first names the collection.
type vector struct {
	ID       string            `json:"id"`
	Group    string            `json:"group"`
	Commands []json.RawMessage `json:"commands"`
	Replies  []json.RawMessage `json:"replies"`
}

// TestVectors runs every recorded case and compares the replies. It prints how many are alike and how many differ as listed.
func TestVectors(t *testing.T) {
	cl, name := vectorServer(t)
	db := cl.Database("vectors")
	alike, listed := 0, 0
	for _, v := range readVectors(t) {
		difference := runVector(t, db, v)
		reason, known := listedDifferences[v.ID]
		switch {
		case difference == "" && !known:
			alike++
		case difference == "":
			t.Errorf("%s %s is listed as different (%s), but is alike", v.Group, v.ID, reason)
		case known:
			listed++
		default:
			t.Errorf("%s %s (-recorded +%s):\n%s", v.Group, v.ID, name, difference)
		}
	}
	t.Logf("%s: %d alike, %d listed differences", name, alike, listed)
}

// vectorServer connects to the server that the environment names, or to an embedded one.
func vectorServer(t *testing.T) (cl *mongo.Client, name string) {
	uri := os.Getenv(mongotest.Variable)
	if uri == "" {
		_, cl = start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
		return cl, "embedded server"
	}
	cl, err := mongo.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cl.Disconnect(context.WithoutCancel(t.Context()))) })
	return cl, "MongoDB server"
}

func readVectors(t *testing.T) []vector {
	f, err := os.Open(vectors)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var vs []vector
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		vs = append(vs, v)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, vs)
	return vs
}

// runVector returns the first reply that differs, with its command; empty when all are alike.
func runVector(t *testing.T, db *mongo.Database, v vector) string {
	ctx := context.WithoutCancel(t.Context())
	for i, text := range v.Commands {
		var command, want bson.D
		require.NoError(t, bson.UnmarshalExtJSON(text, false, &command), v.ID)
		require.NoError(t, bson.UnmarshalExtJSON(v.Replies[i], true, &want), v.ID)
		if i == 0 {
			require.NoError(t, db.Collection(command[0].Value.(string)).Drop(ctx))
		}
		raw, err := db.RunCommand(ctx, command).Raw()
		require.NotEmpty(t, raw, "%s: %s: %v", v.ID, text, err)
		var reply bson.D
		require.NoError(t, bson.Unmarshal(raw, &reply))
		want, have := recorded(want), recorded(reduce(command[0].Key, reply))
		ofAnyVersion(command[0].Key, want)
		ofAnyVersion(command[0].Key, have)
		if d := cmp.Diff(canonical(t, want), canonical(t, have)); d != "" {
			return string(text) + "\n" + d
		}
	}
	return ""
}

// recordedFields are the parts of a reply that the vectors keep, in one order.
var recordedFields = []string{
	"code", "n", "nModified", "upserted", "value", "numIndexesBefore", "numIndexesAfter", "values", "lastErrorObject", "batch", "writeErrors",
}

// recorded selects and orders the parts of a reply that the vectors keep.
func recorded(reply bson.D) bson.D {
	out := bson.D{}
	for _, name := range recordedFields {
		if v, ok := field(reply, name); ok {
			out = append(out, bson.E{Key: name, Value: v})
		}
	}
	return out
}

// reduce leaves of a server's reply to a command what the vectors keep.
func reduce(name string, reply bson.D) bson.D {
	if ok, _ := field(reply, "ok"); ok != 1.0 {
		code, _ := field(reply, "code")
		if code == int32(86) {
			code = int32(85)
		}
		return bson.D{{Key: "code", Value: code}}
	}
	if c, ok := field(reply, "cursor"); ok {
		batch, _ := field(c.(bson.D), "firstBatch")
		if name == "listIndexes" {
			batch = without(batch.(bson.A), "v", "ns")
		}
		reply = append(reply, bson.E{Key: "batch", Value: batch})
	}
	if errs, ok := field(reply, "writeErrors"); ok {
		for i, e := range errs.(bson.A) {
			errs.(bson.A)[i] = without(bson.A{e}, "errmsg", "errInfo")[0]
		}
	}
	return reply
}

// ofAnyVersion removes the differences between versions of MongoDB from a reply: the order of an index's options, and whether the key of an empty
// array is undefined or null.
func ofAnyVersion(name string, reply bson.D) {
	if batch, ok := field(reply, "batch"); ok && name == "listIndexes" {
		for _, index := range batch.(bson.A) {
			slices.SortFunc(index.(bson.D), func(a, b bson.E) int { return strings.Compare(a.Key, b.Key) })
		}
	}
	errs, _ := field(reply, "writeErrors")
	failed, _ := errs.(bson.A)
	for _, e := range failed {
		key, _ := field(e.(bson.D), "keyValue")
		group, _ := key.(bson.D)
		for i := range group {
			if group[i].Value == (bson.Undefined{}) {
				group[i].Value = nil
			}
		}
	}
}

func without(docs bson.A, names ...string) bson.A {
	for i, d := range docs {
		docs[i] = slices.DeleteFunc(d.(bson.D), func(e bson.E) bool { return slices.Contains(names, e.Key) })
	}
	return docs
}

func field(d bson.D, name string) (any, bool) {
	for _, e := range d {
		if e.Key == name {
			return e.Value, true
		}
	}
	return nil, false
}

func canonical(t *testing.T, d bson.D) string {
	text, err := bson.MarshalExtJSONIndent(d, true, false, "", " ")
	require.NoError(t, err)
	return string(text)
}
