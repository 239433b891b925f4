package embeddedmongo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
)

type (
	A = bson.A
	M = bson.M
	D = bson.D
)

// outside maps the checks of features that doc.go's table does not list to what the NotImplemented error has to name.
var outside = map[string]string{
	"index collation strength 2":   "collation",
	"index text":                   "text",
	"index hashed":                 "hashed",
	"find collation i":             "collation",
	"agg $lookup":                  "$lookup",
	"agg $lookup pipeline":         "$lookup",
	"agg $facet":                   "$facet",
	"agg $bucket":                  "$bucket",
	"agg $unionWith":               "$unionWith",
	"agg $setWindowFields":         "$setWindowFields",
	"agg $merge":                   "$merge",
	"FAM $expr field<field":        "$expr",
	"filter $expr":                 "$expr",
	"update pipeline update":       "pipeline",
	"agg $group $first/$last":      "$first",
	"agg $group $max/$avg/$push":   "$avg",
	"agg $unwind":                  "$unwind",
	"agg $project computed":        "computed",
	"agg $addFields/$set":          "$set",
	"agg $addFields computed":      "$addFields",
	"agg $sortByCount":             "$sortByCount",
	"agg $replaceRoot":             "$replaceRoot",
	"agg $dateTrunc":               "$dateTrunc",
	"agg $cond/$switch":            "computed",
	"transaction commit":           "startTransaction",
	"transaction abort rolls back": "startTransaction",
	"change stream":                "$changeStream",
	"tailable capped cursor":       "capped",
	"validator jsonSchema":         "validator",
}

// TestMatrix checks every feature that a developer of this product may reach for: what the table lists works, and everything
// else fails with an error that names it. Both lists are printed.
func TestMatrix(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	// Another server, when one is named, must do everything: it shows what the checks expect, not what is left out here.
	uri := os.Getenv(mongotest.Variable)
	open := func() *mongo.Client {
		cl, err := mongo.Connect(options.Client().ApplyURI(uri))
		require.NoError(t, err)
		return cl
	}
	if uri == "" {
		s, _ := start(t, t.TempDir(), embeddedmongo.Options{})
		open = func() *mongo.Client { return connect(t, s) }
	}
	cl := open()
	defer func() { require.NoError(t, cl.Disconnect(ctx)) }()
	var works, refused []string
	check := func(name string, f func(ctx context.Context) error) {
		t.Run(name, func(t *testing.T) {
			c, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			err := f(c)
			feature, out := outside[name]
			if !out || uri != "" {
				require.NoError(t, err)
				works = append(works, name)
				return
			}
			var se mongo.ServerError
			require.ErrorAs(t, err, &se)
			require.True(t, se.HasErrorCode(238), "%v", err)
			require.ErrorContains(t, err, feature)
			refused = append(refused, name)
		})
	}
	defer func() {
		t.Logf("works (%d): %s", len(works), strings.Join(works, " · "))
		t.Logf("refused by name (%d): %s", len(refused), strings.Join(refused, " · "))
	}()
	n := 0
	db := cl.Database(fmt.Sprint("matrix", time.Now().UnixNano()))
	nc := func() *mongo.Collection { n++; return db.Collection(fmt.Sprintf("c%d", n)) }
	idx := func(c *mongo.Collection, keys D, o *options.IndexOptionsBuilder) error {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys, Options: o})
		return err
	}
	ids := func(cur *mongo.Cursor, err error) (string, error) {
		if err != nil {
			return "", err
		}
		var r []M
		if err := cur.All(ctx, &r); err != nil {
			return "", err
		}
		var s []string
		for _, d := range r {
			s = append(s, fmt.Sprint(d["_id"]))
		}
		return strings.Join(s, ","), nil
	}
	want := func(got string, err error, w string) error {
		if err != nil {
			return err
		}
		if got != w {
			return fmt.Errorf("got %q want %q", got, w)
		}
		return nil
	}

	// ---- indexes
	check("index unique", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "a", Value: 1}}, options.Index().SetUnique(true)); err != nil {
			return err
		}
		if _, err := c.InsertOne(ctx, M{"a": 1}); err != nil {
			return err
		}
		_, err := c.InsertOne(ctx, M{"a": 1})
		if !mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("dup accepted: %v", err)
		}
		return nil
	})
	check("index unique on dotted path", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "a.b", Value: 1}}, options.Index().SetUnique(true)); err != nil {
			return err
		}
		c.InsertOne(ctx, M{"a": M{"b": 1}})
		_, err := c.InsertOne(ctx, M{"a": M{"b": 1}})
		if !mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("dup accepted: %v", err)
		}
		return nil
	})
	check("index unique compound", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "a", Value: 1}, {Key: "b", Value: 1}}, options.Index().SetUnique(true)); err != nil {
			return err
		}
		if _, err := c.InsertMany(ctx, A{M{"a": 1, "b": 1}, M{"a": 1, "b": 2}}); err != nil {
			return err
		}
		_, err := c.InsertOne(ctx, M{"a": 1, "b": 2})
		if !mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("dup accepted: %v", err)
		}
		return nil
	})
	check("index unique: missing field = null collides", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "a", Value: 1}}, options.Index().SetUnique(true)); err != nil {
			return err
		}
		c.InsertOne(ctx, M{"x": 1})
		_, err := c.InsertOne(ctx, M{"x": 2})
		if !mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("two missing accepted: %v", err)
		}
		return nil
	})
	check("index partial unique", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "w", Value: 1}, {Key: "k", Value: 1}}, options.Index().SetUnique(true).SetPartialFilterExpression(M{"k": M{"$exists": true}})); err != nil {
			return err
		}
		if _, err := c.InsertMany(ctx, A{M{"w": 1}, M{"w": 1}, M{"w": 1, "k": "x"}}); err != nil {
			return err
		}
		_, err := c.InsertOne(ctx, M{"w": 1, "k": "x"})
		if !mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("dup accepted: %v", err)
		}
		return nil
	})
	check("index sparse unique", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "k", Value: 1}}, options.Index().SetUnique(true).SetSparse(true)); err != nil {
			return err
		}
		if _, err := c.InsertMany(ctx, A{M{"w": 1}, M{"w": 1}, M{"w": 1, "k": "x"}}); err != nil {
			return err
		}
		_, err := c.InsertOne(ctx, M{"k": "x"})
		if !mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("dup accepted: %v", err)
		}
		return nil
	})
	check("index TTL accepted", func(_ context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "e", Value: 1}}, options.Index().SetExpireAfterSeconds(0)); err != nil {
			return err
		}
		return nil
	})
	check("index multikey (array) + find", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "tags", Value: 1}}, nil); err != nil {
			return err
		}
		c.InsertMany(ctx, A{M{"_id": 1, "tags": A{"a", "b"}}, M{"_id": 2, "tags": A{"b"}}})
		g, err := ids(c.Find(ctx, M{"tags": "a"}))
		return want(g, err, "1")
	})
	check("index collation strength 2", func(_ context.Context) error {
		c := nc()
		return idx(c, D{{Key: "a", Value: 1}}, options.Index().SetCollation(&options.Collation{Locale: "en", Strength: 2}))
	})
	check("index text", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "a", Value: "text"}}, nil); err != nil {
			return err
		}
		c.InsertOne(ctx, M{"_id": 1, "a": "hello world"})
		g, err := ids(c.Find(ctx, M{"$text": M{"$search": "hello"}}))
		return want(g, err, "1")
	})
	check("index hashed", func(_ context.Context) error { return idx(nc(), D{{Key: "a", Value: "hashed"}}, nil) })
	check("listIndexes/dropIndex", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "a", Value: -1}, {Key: "b.c", Value: 1}}, options.Index().SetName("zz")); err != nil {
			return err
		}
		l, err := c.Indexes().ListSpecifications(ctx)
		if err != nil || len(l) != 2 {
			return fmt.Errorf("%v %v", l, err)
		}
		err = c.Indexes().DropOne(ctx, "zz")
		return err
	})

	// ---- updates
	upd := func(name string, before D, filter, update any, o *options.UpdateOneOptionsBuilder, after string) {
		check("update "+name, func(ctx context.Context) error {
			c := nc()
			if before != nil {
				if _, err := c.InsertOne(ctx, before); err != nil {
					return err
				}
			}
			if o == nil {
				o = options.UpdateOne()
			}
			if _, err := c.UpdateOne(ctx, filter, update, o); err != nil {
				return err
			}
			if after == "" {
				return nil
			}
			var d D
			if err := c.FindOne(ctx, M{}).Decode(&d); err != nil {
				return err
			}
			b, _ := bson.MarshalExtJSON(d, false, false)
			return want(string(b), nil, after)
		})
	}
	one := M{"_id": 1}
	upd("$set dotted", D{{Key: "_id", Value: 1}, {Key: "s", Value: D{{Key: "t", Value: "a"}}}}, one, M{"$set": M{"s.t": "b", "s.u": 2}}, nil, `{"_id":1,"s":{"t":"b","u":2}}`)
	upd("$inc", D{{Key: "_id", Value: 1}, {Key: "v", Value: 1}}, one, M{"$inc": M{"v": 2}}, nil, `{"_id":1,"v":3}`)
	upd("$unset", D{{Key: "_id", Value: 1}, {Key: "v", Value: 1}}, one, M{"$unset": M{"v": ""}}, nil, `{"_id":1}`)
	upd("$min", D{{Key: "_id", Value: 1}, {Key: "v", Value: 5}}, one, M{"$min": M{"v": 2}}, nil, `{"_id":1,"v":2}`)
	upd("$max", D{{Key: "_id", Value: 1}, {Key: "v", Value: 5}}, one, M{"$max": M{"v": 7}}, nil, `{"_id":1,"v":7}`)
	upd("$mul", D{{Key: "_id", Value: 1}, {Key: "v", Value: 5}}, one, M{"$mul": M{"v": 2}}, nil, `{"_id":1,"v":10}`)
	upd("$rename", D{{Key: "_id", Value: 1}, {Key: "v", Value: 5}}, one, M{"$rename": M{"v": "w"}}, nil, `{"_id":1,"w":5}`)
	upd("$push", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{1}}}, one, M{"$push": M{"v": 2}}, nil, `{"_id":1,"v":[1,2]}`)
	upd("$push $each", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{1}}}, one, M{"$push": M{"v": M{"$each": A{2, 3}}}}, nil, `{"_id":1,"v":[1,2,3]}`)
	upd("$push $each $slice", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{1}}}, one, M{"$push": M{"v": M{"$each": A{2, 3}, "$slice": -2}}}, nil, `{"_id":1,"v":[2,3]}`)
	upd("$pull scalar", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{1, 2}}}, one, M{"$pull": M{"v": 1}}, nil, `{"_id":1,"v":[2]}`)
	upd("$pull {id}", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{D{{Key: "id", Value: 1}}, D{{Key: "id", Value: 2}}}}}, one, M{"$pull": M{"v": M{"id": 1}}}, nil, `{"_id":1,"v":[{"id":2}]}`)
	upd("$pull {id:$in}", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{D{{Key: "id", Value: 1}}, D{{Key: "id", Value: 2}}}}}, one, M{"$pull": M{"v": M{"id": M{"$in": A{1}}}}}, nil, `{"_id":1,"v":[{"id":2}]}`)
	upd("$pullAll", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{1, 2, 3}}}, one, M{"$pullAll": M{"v": A{1, 3}}}, nil, `{"_id":1,"v":[2]}`)
	upd("$addToSet", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{1, 2}}}, one, M{"$addToSet": M{"v": 1}}, nil, `{"_id":1,"v":[1,2]}`)
	upd("$addToSet $each", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{1, 2}}}, one, M{"$addToSet": M{"v": M{"$each": A{1, 3}}}}, nil, `{"_id":1,"v":[1,2,3]}`)
	upd("$setOnInsert upsert", nil, one, M{"$set": M{"a": 1}, "$setOnInsert": M{"b": 2}}, options.UpdateOne().SetUpsert(true), `{"_id":1,"a":1,"b":2}`)
	upd("$currentDate", D{{Key: "_id", Value: 1}}, one, M{"$currentDate": M{"t": true}, "$unset": M{"q": 1}}, nil, "")
	upd("positional $", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{D{{Key: "id", Value: 1}}, D{{Key: "id", Value: 2}}}}}, M{"v.id": 2}, M{"$set": M{"v.$.x": 9}}, nil, `{"_id":1,"v":[{"id":1},{"id":2,"x":9}]}`)
	upd("array index path v.0.x", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{D{{Key: "id", Value: 1}}}}}, one, M{"$set": M{"v.0.x": 9}}, nil, `{"_id":1,"v":[{"id":1,"x":9}]}`)
	upd("arrayFilters $[e]", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{D{{Key: "id", Value: 1}}, D{{Key: "id", Value: 2}}}}}, one, M{"$set": M{"v.$[e].x": 9}}, options.UpdateOne().SetArrayFilters(A{M{"e.id": 2}}), `{"_id":1,"v":[{"id":1},{"id":2,"x":9}]}`)
	upd("all positional $[]", D{{Key: "_id", Value: 1}, {Key: "v", Value: A{D{{Key: "id", Value: 1}}}}}, one, M{"$set": M{"v.$[].x": 9}}, nil, `{"_id":1,"v":[{"id":1,"x":9}]}`)
	upd("pipeline update", D{{Key: "_id", Value: 1}, {Key: "v", Value: 5}}, one, A{M{"$set": M{"w": M{"$add": A{"$v", 1}}}}}, nil, `{"_id":1,"v":5,"w":6}`)
	check("updateMany", func(ctx context.Context) error {
		c := nc()
		c.InsertMany(ctx, A{M{"a": 1}, M{"a": 1}, M{"a": 2}})
		r, err := c.UpdateMany(ctx, M{"a": 1}, M{"$set": M{"b": 1}})
		if err != nil || r.ModifiedCount != 2 || r.MatchedCount != 2 {
			return fmt.Errorf("%v %v", r, err)
		}
		return nil
	})
	check("replaceOne upsert", func(ctx context.Context) error {
		c := nc()
		r, err := c.ReplaceOne(ctx, one, M{"a": 1}, options.Replace().SetUpsert(true))
		if err != nil || r.UpsertedCount != 1 {
			return fmt.Errorf("%v %v", r, err)
		}
		return nil
	})
	// ---- findAndModify
	check("FAM upsert returns after", func(ctx context.Context) error {
		c := nc()
		var d M
		err := c.FindOneAndUpdate(ctx, M{"k": "x"}, M{"$setOnInsert": M{"a": 1}, "$inc": M{"v": 1}}, options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&d)
		if err != nil || fmt.Sprint(d["v"]) != "1" || d["k"] != "x" {
			return fmt.Errorf("%v %v", d, err)
		}
		return nil
	})
	check("FAM upsert returns before = none", func(ctx context.Context) error {
		c := nc()
		err := c.FindOneAndUpdate(ctx, M{"k": "x"}, M{"$inc": M{"v": 1}}, options.FindOneAndUpdate().SetUpsert(true)).Err()
		if !errors.Is(err, mongo.ErrNoDocuments) {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	check("FAM sort + projection", func(ctx context.Context) error {
		c := nc()
		c.InsertMany(ctx, A{M{"_id": 1, "p": 1, "z": 1}, M{"_id": 2, "p": 3, "z": 1}, M{"_id": 3, "p": 2, "z": 1}})
		var d M
		err := c.FindOneAndUpdate(ctx, M{"z": 1}, M{"$set": M{"z": 2}}, options.FindOneAndUpdate().SetSort(D{{Key: "p", Value: -1}}).SetProjection(M{"p": 1}).SetReturnDocument(options.After)).Decode(&d)
		if err != nil || len(d) != 2 || fmt.Sprint(d["_id"], d["p"]) != "2 3" {
			return fmt.Errorf("%v %v", d, err)
		}
		return nil
	})
	check("FAM CAS (rev in filter)", func(ctx context.Context) error {
		c := nc()
		c.InsertOne(ctx, M{"_id": 1, "rev": 1})
		if err := c.FindOneAndUpdate(ctx, M{"_id": 1, "rev": 1}, M{"$inc": M{"rev": 1}}).Err(); err != nil {
			return err
		}
		err := c.FindOneAndUpdate(ctx, M{"_id": 1, "rev": 1}, M{"$inc": M{"rev": 1}}).Err()
		if !errors.Is(err, mongo.ErrNoDocuments) {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	check("FAM $lt condition slots", func(ctx context.Context) error {
		c := nc()
		c.InsertOne(ctx, M{"_id": 1, "active": 0, "limit": 2})
		for range 2 {
			if err := c.FindOneAndUpdate(ctx, M{"_id": 1, "active": M{"$lt": 2}}, M{"$inc": M{"active": 1}}).Err(); err != nil {
				return err
			}
		}
		err := c.FindOneAndUpdate(ctx, M{"_id": 1, "active": M{"$lt": 2}}, M{"$inc": M{"active": 1}}).Err()
		if !errors.Is(err, mongo.ErrNoDocuments) {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	check("FAM $expr field<field", func(ctx context.Context) error {
		c := nc()
		c.InsertOne(ctx, M{"_id": 1, "active": 0, "limit": 2})
		return c.FindOneAndUpdate(ctx, M{"_id": 1, "$expr": M{"$lt": A{"$active", "$limit"}}}, M{"$inc": M{"active": 1}}).Err()
	})
	check("FAM delete", func(ctx context.Context) error {
		c := nc()
		c.InsertOne(ctx, M{"_id": 1})
		return c.FindOneAndDelete(ctx, one).Err()
	})
	// ---- filters
	fc := nc()
	_, err := fc.InsertMany(ctx, A{
		D{{Key: "_id", Value: 1}, {Key: "a", Value: 1}, {Key: "s", Value: "Foo"}, {Key: "t", Value: A{"x", "y"}}, {Key: "st", Value: M{"type": "RUNNING"}}, {Key: "arr", Value: A{M{"k": 1, "v": 2}, M{"k": 3, "v": 4}}}, {Key: "d", Value: time.Unix(1000, 0)}},
		D{{Key: "_id", Value: 2}, {Key: "a", Value: 2}, {Key: "s", Value: "bar"}, {Key: "t", Value: A{"x"}}, {Key: "st", Value: M{"type": "FAILED"}}, {Key: "arr", Value: A{M{"k": 1, "v": 4}}}, {Key: "d", Value: time.Unix(2000, 0)}, {Key: "n", Value: nil}},
		D{{Key: "_id", Value: 3}, {Key: "a", Value: 3}, {Key: "s", Value: "Bar"}, {Key: "t", Value: A{}}, {Key: "st", Value: M{"type": "COMPLETED"}}, {Key: "opt", Value: true}, {Key: "d", Value: time.Unix(3000, 0)}, {Key: "n", Value: 1}},
	})
	require.NoError(t, err)
	fl := func(name string, f any, w string) {
		check("filter "+name, func(ctx context.Context) error {
			g, err := ids(fc.Find(ctx, f, options.Find().SetSort(D{{Key: "_id", Value: 1}})))
			return want(g, err, w)
		})
	}
	fl("$in", M{"a": M{"$in": A{1, 3}}}, "1,3")
	fl("$in dotted", M{"st.type": M{"$in": A{"RUNNING", "FAILED"}}}, "1,2")
	fl("$nin", M{"a": M{"$nin": A{1, 3}}}, "2")
	fl("$ne", M{"a": M{"$ne": 1}}, "2,3")
	fl("$all", M{"t": M{"$all": A{"x", "y"}}}, "1")
	fl("$elemMatch", M{"arr": M{"$elemMatch": M{"k": 1, "v": 4}}}, "2")
	fl("$size", M{"t": M{"$size": 0}}, "3")
	fl("$exists", M{"opt": M{"$exists": false}}, "1,2")
	fl("null eq (missing or null)", M{"n": nil}, "1,2")
	fl("$gte/$lte date", M{"d": M{"$gte": time.Unix(2000, 0), "$lte": time.Unix(3000, 0)}}, "2,3")
	fl("$regex", M{"s": M{"$regex": "ar$"}}, "2,3")
	fl("$regex i", M{"s": M{"$regex": "^foo", "$options": "i"}}, "1")
	fl("$or", M{"$or": A{M{"a": 1}, M{"s": "bar"}}}, "1,2")
	fl("$and", M{"$and": A{M{"a": M{"$gt": 1}}, M{"t": "x"}}}, "2")
	fl("$nor", M{"$nor": A{M{"a": 1}, M{"s": "bar"}}}, "3")
	fl("$not", M{"a": M{"$not": M{"$gt": 1}}}, "1")
	fl("dotted in array", M{"arr.v": 4}, "1,2")
	fl("$type", M{"s": M{"$type": "string"}}, "1,2,3")
	fl("$mod", M{"a": M{"$mod": A{2, 1}}}, "1,3")
	fl("$expr", M{"$expr": M{"$gt": A{"$a", 2}}}, "3")
	fl("whole-array eq", M{"t": A{"x", "y"}}, "1")
	check("sort+skip+limit", func(ctx context.Context) error {
		g, err := ids(fc.Find(ctx, M{}, options.Find().SetSort(D{{Key: "a", Value: -1}}).SetSkip(1).SetLimit(1)))
		return want(g, err, "2")
	})
	check("sort 2 keys dotted", func(ctx context.Context) error {
		g, err := ids(fc.Find(ctx, M{}, options.Find().SetSort(D{{Key: "st.type", Value: 1}, {Key: "_id", Value: -1}})))
		return want(g, err, "3,2,1")
	})
	check("projection incl dotted", func(ctx context.Context) error {
		var d D
		err := fc.FindOne(ctx, one, options.FindOne().SetProjection(M{"st.type": 1})).Decode(&d)
		b, _ := bson.MarshalExtJSON(d, false, false)
		return want(string(b), err, `{"_id":1,"st":{"type":"RUNNING"}}`)
	})
	check("projection excl", func(ctx context.Context) error {
		var d D
		err := fc.FindOne(ctx, one, options.FindOne().SetProjection(M{"arr": 0, "d": 0, "t": 0, "st": 0})).Decode(&d)
		b, _ := bson.MarshalExtJSON(d, false, false)
		return want(string(b), err, `{"_id":1,"a":1,"s":"Foo"}`)
	})
	check("projection $slice", func(ctx context.Context) error {
		var d M
		return fc.FindOne(ctx, one, options.FindOne().SetProjection(M{"t": M{"$slice": 1}})).Decode(&d)
	})
	check("countDocuments", func(ctx context.Context) error {
		k, err := fc.CountDocuments(ctx, M{"t": "x"})
		return want(fmt.Sprint(k), err, "2")
	})
	check("countDocuments skip+limit", func(ctx context.Context) error {
		k, err := fc.CountDocuments(ctx, M{}, options.Count().SetLimit(2).SetSkip(2))
		return want(fmt.Sprint(k), err, "1")
	})
	check("estimatedDocumentCount", func(ctx context.Context) error {
		k, err := fc.EstimatedDocumentCount(ctx)
		return want(fmt.Sprint(k), err, "3")
	})
	check("distinct", func(ctx context.Context) error {
		var k []any
		err := fc.Distinct(ctx, "t", M{}).Decode(&k)
		return want(fmt.Sprint(k), err, "[x y]")
	})
	check("find collation i", func(ctx context.Context) error {
		g, err := ids(fc.Find(ctx, M{"s": "bar"}, options.Find().SetSort(D{{Key: "_id", Value: 1}}).SetCollation(&options.Collation{Locale: "en", Strength: 2})))
		return want(g, err, "2,3")
	})
	check("find hint", func(ctx context.Context) error {
		g, err := ids(fc.Find(ctx, M{"a": 1}, options.Find().SetHint(D{{Key: "_id", Value: 1}})))
		return want(g, err, "1")
	})
	check("find maxTime+comment", func(ctx context.Context) error {
		g, err := ids(fc.Find(ctx, M{"a": 1}, options.Find().SetComment("x")))
		return want(g, err, "1")
	})
	check("$where absent ok", func(_ context.Context) error { return nil })
	// ---- aggregation
	agg := func(name string, w string, stages ...any) {
		check("agg "+name, func(ctx context.Context) error {
			cur, err := fc.Aggregate(ctx, A(stages))
			if err != nil {
				return err
			}
			var r []D
			if err := cur.All(ctx, &r); err != nil {
				return err
			}
			var s []string
			for _, d := range r {
				b, _ := bson.MarshalExtJSON(d, false, false)
				s = append(s, string(b))
			}
			if w == "" {
				return nil
			}
			return want(strings.Join(s, ";"), nil, w)
		})
	}
	oc := db.Collection("other")
	oc.InsertMany(ctx, A{M{"_id": 10, "ref": 1}, M{"_id": 11, "ref": 1}})
	agg("$match $sort $limit", `{"_id":3}`, M{"$match": M{"a": M{"$gt": 1}}}, M{"$sort": D{{Key: "a", Value: -1}}}, M{"$limit": 1}, M{"$project": M{"_id": 1}})
	agg("$group $sum const", `{"_id":null,"n":3}`, M{"$group": D{{Key: "_id", Value: nil}, {Key: "n", Value: M{"$sum": 1}}}})
	agg("$group by field", ``, M{"$group": D{{Key: "_id", Value: "$st.type"}, {Key: "n", Value: M{"$sum": "$a"}}}})
	agg("$group by document", ``, M{"$group": D{{Key: "_id", Value: D{{Key: "t", Value: "$st.type"}, {Key: "s", Value: "$s"}}}, {Key: "n", Value: M{"$sum": 1}}}})
	agg("$group $first/$last", ``, M{"$sort": D{{Key: "a", Value: -1}}}, M{"$group": D{{Key: "_id", Value: nil}, {Key: "n", Value: M{"$first": "$a"}}}})
	agg("$group $max/$avg/$push", ``, M{"$group": D{{Key: "_id", Value: nil}, {Key: "m", Value: M{"$max": "$a"}}, {Key: "v", Value: M{"$avg": "$a"}}, {Key: "p", Value: M{"$push": "$a"}}}})
	agg("$count", `{"n":3}`, M{"$count": "n"})
	agg("$unwind", `{"_id":1,"t":"x"};{"_id":1,"t":"y"};{"_id":2,"t":"x"}`, M{"$sort": D{{Key: "_id", Value: 1}}}, M{"$unwind": "$t"}, M{"$project": M{"t": 1}})
	agg("$project computed", `{"_id":1,"b":2}`, M{"$match": one}, M{"$project": M{"b": M{"$add": A{"$a", 1}}}})
	agg("$addFields/$set", ``, M{"$set": M{"b": 1}})
	agg("$addFields computed", ``, M{"$addFields": M{"b": M{"$subtract": A{"$a", 1}}}})
	agg("$lookup", ``, M{"$lookup": M{"from": "other", "localField": "_id", "foreignField": "ref", "as": "o"}})
	agg("$lookup pipeline", ``, M{"$lookup": M{"from": "other", "let": M{"i": "$_id"}, "pipeline": A{M{"$match": M{"$expr": M{"$eq": A{"$ref", "$$i"}}}}}, "as": "o"}})
	agg("$facet", ``, M{"$facet": M{"a": A{M{"$count": "n"}}}})
	agg("$bucket", ``, M{"$bucket": M{"groupBy": "$a", "boundaries": A{0, 2, 5}}})
	agg("$sortByCount", ``, M{"$sortByCount": "$st.type"})
	agg("$replaceRoot", ``, M{"$replaceRoot": M{"newRoot": "$st"}})
	agg("$unionWith", ``, M{"$unionWith": "other"})
	agg("$dateTrunc", ``, M{"$group": M{"_id": M{"$dateTrunc": M{"date": "$d", "unit": "minute"}}}})
	agg("$setWindowFields", ``, M{"$setWindowFields": M{"sortBy": M{"a": 1}, "output": M{"r": M{"$documentNumber": M{}}}}})
	agg("$cond/$switch", ``, M{"$project": M{"b": M{"$cond": A{M{"$gt": A{"$a", 1}}, 1, 0}}}})
	agg("$merge", ``, M{"$merge": M{"into": "merged"}})
	agg("$skip", `{"_id":3}`, M{"$sort": M{"_id": 1}}, M{"$skip": 2}, M{"$project": M{"_id": 1}})
	// ---- bulk
	check("bulkWrite ordered", func(ctx context.Context) error {
		c := nc()
		r, err := c.BulkWrite(ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(M{"_id": 1}), mongo.NewUpdateOneModel().SetFilter(one).SetUpdate(M{"$set": M{"a": 1}}),
			mongo.NewUpdateOneModel().SetFilter(M{"_id": 2}).SetUpdate(M{"$set": M{"a": 1}}).SetUpsert(true), mongo.NewDeleteOneModel().SetFilter(one),
		})
		if err != nil || r.InsertedCount != 1 || r.ModifiedCount != 1 || r.UpsertedCount != 1 || r.DeletedCount != 1 {
			return fmt.Errorf("%v %v", r, err)
		}
		return nil
	})
	check("insertMany ordered=false dup", func(ctx context.Context) error {
		c := nc()
		_, err := c.InsertMany(ctx, A{M{"_id": 1}, M{"_id": 1}, M{"_id": 2}}, options.InsertMany().SetOrdered(false))
		k, _ := c.CountDocuments(ctx, M{})
		if !mongo.IsDuplicateKeyError(err) || k != 2 {
			return fmt.Errorf("%v n=%d", err, k)
		}
		return nil
	})
	check("insertMany ordered dup stops", func(ctx context.Context) error {
		c := nc()
		_, err := c.InsertMany(ctx, A{M{"_id": 1}, M{"_id": 1}, M{"_id": 2}})
		k, _ := c.CountDocuments(ctx, M{})
		if !mongo.IsDuplicateKeyError(err) || k != 1 {
			return fmt.Errorf("%v n=%d", err, k)
		}
		return nil
	})
	// ---- sessions
	check("session (no txn)", func(ctx context.Context) error {
		s, err := cl.StartSession()
		if err != nil {
			return err
		}
		defer s.EndSession(ctx)
		return mongo.WithSession(ctx, s, func(sc context.Context) error { _, err := nc().InsertOne(sc, M{"a": 1}); return err })
	})
	check("transaction commit", func(ctx context.Context) error {
		s, err := cl.StartSession()
		if err != nil {
			return err
		}
		defer s.EndSession(ctx)
		c := nc()
		c.InsertOne(ctx, M{"_id": 0})
		_, err = s.WithTransaction(ctx, func(sc context.Context) (any, error) { return c.InsertOne(sc, M{"a": 1}) })
		return err
	})
	check("transaction abort rolls back", func(ctx context.Context) error {
		s, err := cl.StartSession()
		if err != nil {
			return err
		}
		defer s.EndSession(ctx)
		c := nc()
		c.InsertOne(ctx, M{"_id": 0})
		boom := errors.New("x")
		_, err = s.WithTransaction(ctx, func(sc context.Context) (any, error) {
			if _, err := c.InsertOne(sc, M{"a": 1}); err != nil {
				return nil, err
			}
			return nil, boom
		})
		if !errors.Is(err, boom) {
			return err
		}
		k, _ := c.CountDocuments(ctx, M{})
		return want(fmt.Sprint(k), nil, "1")
	})
	check("change stream", func(ctx context.Context) error {
		c := nc()
		c.InsertOne(ctx, M{"_id": 0})
		cs, err := c.Watch(ctx, A{})
		if err != nil {
			return err
		}
		defer cs.Close(ctx)
		c.InsertOne(ctx, M{"_id": 1})
		if !cs.Next(ctx) {
			return fmt.Errorf("no event %v", cs.Err())
		}
		return nil
	})
	check("readConcern majority/wc majority", func(ctx context.Context) error {
		c2 := open()
		defer c2.Disconnect(ctx)
		_, err := c2.Database(db.Name(), options.Database().SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority())).Collection("wc").InsertOne(ctx, M{"a": 1})
		return err
	})
	check("cursor getMore 1000 docs batch 50", func(ctx context.Context) error {
		c := nc()
		var ds []any
		for i := range 1000 {
			ds = append(ds, M{"_id": i})
		}
		if _, err := c.InsertMany(ctx, ds); err != nil {
			return err
		}
		cur, err := c.Find(ctx, M{}, options.Find().SetBatchSize(50).SetSort(D{{Key: "_id", Value: 1}}))
		if err != nil {
			return err
		}
		var r []M
		err = cur.All(ctx, &r)
		return want(fmt.Sprint(len(r)), err, "1000")
	})
	check("tailable capped cursor", func(ctx context.Context) error {
		return db.CreateCollection(ctx, "capped", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<20))
	})
	check("explain find", func(ctx context.Context) error {
		var r M
		return db.RunCommand(ctx, D{{Key: "explain", Value: D{{Key: "find", Value: fc.Name()}, {Key: "filter", Value: D{{Key: "a", Value: 1}}}}}}).Decode(&r)
	})
	check("decimal128 / binary uuid / int64 / date ms", func(ctx context.Context) error {
		c := nc()
		u := bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}
		if _, err := c.InsertOne(ctx, M{"_id": u, "i": int64(1) << 40, "t": time.UnixMilli(1700000000123)}); err != nil {
			return err
		}
		var d M
		if err := c.FindOne(ctx, M{"_id": u, "t": time.UnixMilli(1700000000123)}).Decode(&d); err != nil {
			return err
		}
		return nil
	})
	check("decimal128", func(ctx context.Context) error {
		x, _ := bson.ParseDecimal128("1.5")
		_, err := nc().InsertOne(ctx, M{"_id": x})
		return err
	})
	check("keys with dots/$ in doc", func(ctx context.Context) error {
		_, err := nc().InsertOne(ctx, M{"_id": 1, "labels": M{"prefect.io/x": "y"}})
		return err
	})
	check("keys with $ prefix nested", func(ctx context.Context) error {
		_, err := nc().InsertOne(ctx, M{"_id": 1, "p": M{"$ref": "y"}})
		return err
	})
	check("nested arrays", func(ctx context.Context) error {
		_, err := nc().InsertOne(ctx, M{"_id": 1, "p": A{A{1, 2}, A{3}}})
		return err
	})
	check("NaN/Inf/-0 doubles", func(ctx context.Context) error {
		_, err := nc().InsertOne(ctx, D{{Key: "_id", Value: 1}, {Key: "p", Value: math.Inf(1)}, {Key: "q", Value: math.NaN()}})
		return err
	})
	check("NUL char and empty key", func(ctx context.Context) error {
		_, err := nc().InsertOne(ctx, D{{Key: "_id", Value: 1}, {Key: "p", Value: "a\x00b"}, {Key: "", Value: 1}})
		return err
	})
	check("1.5MB doc", func(ctx context.Context) error {
		_, err := nc().InsertOne(ctx, M{"_id": 1, "p": strings.Repeat("x", 1500000)})
		return err
	})
	check("validator jsonSchema", func(ctx context.Context) error {
		return db.CreateCollection(ctx, "val", options.CreateCollection().SetValidator(M{"$jsonSchema": M{"required": A{"x"}}}))
	})
	check("unique upsert race 8x (no dup, no error but E11000)", func(ctx context.Context) error {
		c := nc()
		if err := idx(c, D{{Key: "k", Value: 1}}, options.Index().SetUnique(true)); err != nil {
			return err
		}
		ch := make(chan error, 8)
		for range 8 {
			go func() {
				var e error
				for j := range 50 {
					if _, err := c.UpdateOne(ctx, M{"k": j}, M{"$inc": M{"n": 1}}, options.UpdateOne().SetUpsert(true)); err != nil && !mongo.IsDuplicateKeyError(err) {
						e = err
					}
				}
				ch <- e
			}()
		}
		var e error
		for range 8 {
			if x := <-ch; x != nil {
				e = x
			}
		}
		k, _ := c.CountDocuments(ctx, M{})
		if e == nil && k != 50 {
			e = fmt.Errorf("count %d", k)
		}
		return e
	})
	check("concurrent $inc 8x100 no lost update", func(ctx context.Context) error {
		c := nc()
		c.InsertOne(ctx, M{"_id": 1, "n": 0})
		ch := make(chan error, 8)
		for range 8 {
			go func() {
				var e error
				for range 100 {
					if _, err := c.UpdateOne(ctx, one, M{"$inc": M{"n": 1}}); err != nil {
						e = err
					}
				}
				ch <- e
			}()
		}
		var e error
		for range 8 {
			if x := <-ch; x != nil {
				e = x
			}
		}
		var d M
		c.FindOne(ctx, one).Decode(&d)
		if fmt.Sprint(d["n"]) != "800" {
			return fmt.Errorf("n=%v err=%v", d["n"], e)
		}
		return e
	})
	check("concurrent CAS FAM 8x100 exactly one winner", func(ctx context.Context) error {
		c := nc()
		for i := range 100 {
			c.InsertOne(ctx, M{"_id": i, "rev": 0})
		}
		ch := make(chan int, 8)
		errs := make(chan error, 8)
		for range 8 {
			go func() {
				w := 0
				var e error
				for j := range 100 {
					err := c.FindOneAndUpdate(ctx, M{"_id": j, "rev": 0}, M{"$inc": M{"rev": 1}}).Err()
					if err == nil {
						w++
					} else if !errors.Is(err, mongo.ErrNoDocuments) {
						e = err
					}
				}
				errs <- e
				ch <- w
			}()
		}
		t := 0
		var e error
		for range 8 {
			if x := <-errs; x != nil {
				e = x
			}
			t += <-ch
		}
		if t != 100 {
			return fmt.Errorf("winners=%d err=%v", t, e)
		}
		return e
	})
}
