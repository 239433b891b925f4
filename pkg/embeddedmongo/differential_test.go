package embeddedmongo_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestPlansAgreeWithScans compares random commands on a collection with random indexes and on one without, beside random changes. It
// tries values and structures at the edges of the order of keys. make test-plans tries more of them.
func TestPlansAgreeWithScans(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	tries := 0
	rapid.Check(t, func(r *rapid.T) {
		tries++
		p := &planned{T: r, ctx: ctx, db: cl.Database(fmt.Sprint("d", tries))}
		p.indexed, p.plain = p.db.Collection("indexed"), p.db.Collection("plain")
		from := pick(p, "palette", scalars, []any{0, 1.5, 5, int64(9), nil, "a"})
		for range 5 {
			p.palette = append(p.palette, rapid.SampledFrom(from).Draw(r, "palette"))
		}
		early := rapid.IntRange(0, 3).Draw(r, "early indexes")
		for range early {
			p.index()
		}
		for range rapid.IntRange(1, 60).Draw(r, "documents") {
			p.insert()
		}
		for range rapid.IntRange(0, 3).Draw(r, "late indexes") {
			p.index()
		}
		for range 25 {
			if rapid.IntRange(0, 4).Draw(r, "change or query") == 0 {
				p.change()
			}
			p.query()
		}
		require.NoError(r, p.db.Drop(ctx))
	})
}

type planned struct {
	*rapid.T
	ctx            context.Context
	db             *mongo.Database
	indexed, plain *mongo.Collection
	names          []string // Of the indexes.
	palette        []any    // Few values, so that documents and conditions often have the same.
	id             int
}

// pick draws one of several things.
func pick[E any](p *planned, what string, from ...E) E {
	return rapid.SampledFrom(from).Draw(p.T, what)
}

func decimal(text string) bson.Decimal128 {
	d, err := bson.ParseDecimal128(text)
	if err != nil {
		panic(err)
	}
	return d
}

// scalars have neighbours in the order of keys, and equal values of other types.
var scalars = []any{
	nil, false, true, "", "a", "a\x00", "a\x00b", "b", "\x00", "\uffff", int32(0), int64(0), 0.0, math.Copysign(0, -1), decimal("0"), decimal("-0"),
	int32(1), int64(1), 1.0, decimal("1"), decimal("1.00"), 1.5, int32(-1), -1.5, int32(5), 5.0, math.NaN(), decimal("NaN"), math.Inf(1), math.Inf(-1),
	decimal("Infinity"), decimal("-Infinity"), int64(1<<53 + 1), int64(1 << 53), float64(1 << 53), float64(1<<53 + 2), int64(math.MaxInt64), int64(math.MinInt64),
	decimal("9007199254740993"), decimal("0.1"), 0.1,
	bson.MinKey{},
	bson.MaxKey{},
	bson.DateTime(0), bson.DateTime(5),
	bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)},
	bson.ObjectID{1},
}

func (p *planned) value(depth int) any {
	kind := rapid.IntRange(0, 9).Draw(p.T, "kind")
	switch {
	case kind < 4 || depth == 0:
		return p.scalar("scalar")
	case kind < 7:
		list := A{}
		for range rapid.IntRange(0, 3).Draw(p.T, "elements") {
			list = append(list, p.value(depth-1))
		}
		return list
	case kind == 9: // Lists behind lists, which are rare otherwise.
		return A{D{{Key: pick(p, "field", "a", "b"), Value: A{p.scalar("first"), p.scalar("second")}}}}
	}
	return p.fields(depth - 1)
}

func (p *planned) scalar(what string) any { return rapid.SampledFrom(p.palette).Draw(p.T, what) }

// fields is a document of some of the paths.
func (p *planned) fields(depth int) D {
	d := D{}
	for _, name := range []string{"a", "b", "0"} {
		if rapid.IntRange(0, 2).Draw(p.T, "has "+name) == 0 {
			d = append(d, bson.E{Key: name, Value: p.value(depth)})
		}
	}
	return d
}

func (p *planned) document() D {
	p.id++
	d := D{{Key: "_id", Value: p.id}, {Key: "ws", Value: rapid.IntRange(1, 2).Draw(p.T, "ws")}, {Key: "text", Value: pick(p, "text", "alpha", "alphabet", "Beta", "gamma\x00", "")}}
	for _, name := range []string{"a", "b", "c"} {
		if rapid.IntRange(0, 4).Draw(p.T, "has "+name) > 0 {
			d = append(d, bson.E{Key: name, Value: p.value(3)})
		}
	}
	return d
}

// insert inserts a document that the indexes accept.
func (p *planned) insert() {
	d := p.document()
	if _, err := p.indexed.InsertOne(p.ctx, d); err != nil {
		require.True(p, parallel(err), "%v", err)
		return
	}
	_, err := p.plain.InsertOne(p.ctx, d)
	require.NoError(p, err)
}

var paths = []string{"a", "a", "b", "c", "a.b", "a.b", "a.a", "b.a", "a.b.a", "a.0", "c.0.a", "text", "ws"}

func (p *planned) index() {
	keys := D{}
	if rapid.Bool().Draw(p.T, "scoped") {
		keys = append(keys, bson.E{Key: "ws", Value: 1})
	}
	o := options.Index()
	for range rapid.IntRange(1, 3).Draw(p.T, "fields") {
		path := rapid.SampledFrom(paths).Draw(p.T, "path")
		if !slices.ContainsFunc(keys, func(e bson.E) bool { return e.Key == path }) {
			keys = append(keys, bson.E{Key: path, Value: pick(p, "direction", 1, -1)})
		}
	}
	switch rapid.IntRange(0, 6).Draw(p.T, "kind of index") {
	case 1:
		o.SetSparse(true)
	case 2:
		path := pick(p, "partial", "a", "b", "a.b")
		o.SetPartialFilterExpression(pick(p, "condition", D{{Key: path, Value: M{"$exists": true}}}, D{{Key: path, Value: M{"$gt": p.scalar("limit")}}},
			D{{Key: path, Value: M{"$lte": p.scalar("limit")}}}, D{{Key: path, Value: M{"$type": "string"}}}, D{{Key: path, Value: p.scalar("equal")}}))
	}
	name, err := p.indexed.Indexes().CreateOne(p.ctx, mongo.IndexModel{Keys: keys, Options: o})
	if err == nil {
		p.names = append(p.names, name)
		return
	}
	known := parallel(err) || strings.Contains(err.Error(), "IndexOptionsConflict") || strings.Contains(err.Error(), "IndexKeySpecsConflict") || strings.Contains(err.Error(), "Cannot")
	require.True(p, known, "%v: %v", keys, err)
}

// condition is one of a path; its operand is near the values of the documents.
func (p *planned) condition(depth int) any {
	v := func() any { return p.value(1) }
	scalar := func() any { return p.scalar("operand") }
	switch rapid.IntRange(0, 15).Draw(p.T, "operator") {
	case 0, 1:
		return M{"$eq": v()}
	case 2:
		return M{"$ne": v()}
	case 3:
		return D{{Key: pick(p, "lower", "$gt", "$gte"), Value: scalar()}}
	case 4:
		return D{{Key: pick(p, "upper", "$lt", "$lte"), Value: scalar()}}
	case 5, 6:
		return D{{Key: pick(p, "lower", "$gt", "$gte"), Value: scalar()}, {Key: pick(p, "upper", "$lt", "$lte"), Value: scalar()}}
	case 7:
		return M{"$in": A{v(), v(), scalar()}}
	case 8:
		return M{"$nin": A{v(), scalar()}}
	case 9:
		return M{"$exists": rapid.Bool().Draw(p.T, "exists")}
	case 10:
		return pick[any](p, "other", M{"$size": 1}, M{"$type": "number"}, M{"$type": A{"null", "string"}}, M{"$mod": A{2, 1}})
	case 11:
		if depth > 0 {
			return M{"$elemMatch": p.condition(depth - 1)}
		}
	case 14, 15:
		return M{"$elemMatch": D{{Key: pick(p, "field", "a", "b"), Value: D{{Key: "$gte", Value: scalar()}, {Key: "$lte", Value: scalar()}}}}}
	case 12:
		if depth > 0 {
			return M{"$elemMatch": p.matches(depth-1, []string{"a", "b", "a.b", "0"})}
		}
	case 13:
		if depth > 0 {
			return M{"$not": p.condition(depth - 1)}
		}
	}
	return M{"$eq": scalar()}
}

// matches is a filter of some paths.
func (p *planned) matches(depth int, collections []string) D {
	d := D{}
	for range rapid.IntRange(1, 3).Draw(p.T, "conditions") {
		path := rapid.SampledFrom(collections).Draw(p.T, "path")
		if !slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == path }) {
			d = append(d, bson.E{Key: path, Value: p.condition(depth)})
		}
	}
	return d
}

func (p *planned) filter() D {
	d := p.matches(2, paths)
	if !slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == "ws" }) && rapid.Bool().Draw(p.T, "scoped") {
		d = append(D{{Key: "ws", Value: 1}}, d...)
	}
	if rapid.IntRange(0, 4).Draw(p.T, "search") == 0 && !slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == "text" }) {
		d = append(d, bson.E{Key: "text", Value: bson.Regex{Pattern: pick(p, "pattern", "lph", "^alpha", "beta", "a$"), Options: pick(p, "options", "", "i")}})
	}
	switch rapid.IntRange(0, 5).Draw(p.T, "join") {
	case 0:
		d = append(d, bson.E{Key: "$or", Value: A{p.matches(1, paths), p.matches(1, paths)}})
	case 1:
		d = append(d, bson.E{Key: "$nor", Value: A{p.matches(1, paths)}})
	case 2:
		d = append(d, bson.E{Key: "$and", Value: A{p.matches(1, paths), p.matches(1, paths)}})
	}
	return d
}

// change changes the same documents of both collections.
func (p *planned) change() {
	id := D{{Key: "_id", Value: rapid.IntRange(1, max(1, p.id)).Draw(p.T, "id")}}
	switch rapid.IntRange(0, 2).Draw(p.T, "change") {
	case 0:
		p.insert()
	case 1:
		for _, c := range []*mongo.Collection{p.indexed, p.plain} {
			_, err := c.DeleteOne(p.ctx, id)
			require.NoError(p, err)
		}
	case 2:
		set := M{"$set": D{{Key: pick(p, "field", "a", "b", "c"), Value: p.value(3)}}}
		if _, err := p.indexed.UpdateOne(p.ctx, id, set); err != nil {
			require.True(p, parallel(err), "%v", err)
			return
		}
		_, err := p.plain.UpdateOne(p.ctx, id, set)
		require.NoError(p, err)
	}
}

// query compares one command.
func (p *planned) query() {
	filter := p.filter()
	var command D
	ordered := false
	result := "cursor"
	switch rapid.IntRange(0, 4).Draw(p.T, "command") {
	case 0:
		command = D{{Key: "find", Value: ""}, {Key: "filter", Value: filter}}
	case 1:
		ordered = true
		way := pick(p, "way", 1, -1)
		sort := D{}
		for range rapid.IntRange(0, 2).Draw(p.T, "sorts") {
			path := rapid.SampledFrom(paths).Draw(p.T, "sort")
			if !slices.ContainsFunc(sort, func(e bson.E) bool {
				return e.Key == path || strings.HasPrefix(e.Key, path+".") || strings.HasPrefix(path, e.Key+".")
			}) {
				sort = append(sort, bson.E{Key: path, Value: way})
			}
		}
		command = D{
			{Key: "find", Value: ""},
			{Key: "filter", Value: filter},
			{Key: "sort", Value: append(sort, bson.E{Key: "_id", Value: way})},
			{Key: "skip", Value: rapid.IntRange(0, 10).Draw(p.T, "skip")},
			{Key: "limit", Value: rapid.IntRange(0, 20).Draw(p.T, "limit")},
		}
	case 2:
		result = "n"
		command = D{{Key: "count", Value: ""}, {Key: "query", Value: filter}, {Key: "skip", Value: rapid.IntRange(0, 5).Draw(p.T, "skip")}, {Key: "limit", Value: rapid.IntRange(0, 20).Draw(p.T, "limit")}}
	case 3:
		result = "values"
		command = D{{Key: "distinct", Value: ""}, {Key: "key", Value: rapid.SampledFrom(paths).Draw(p.T, "key")}, {Key: "query", Value: filter}}
	case 4:
		group := M{"_id": "$" + pick(p, "group", "a", "b", "ws", "text"), "n": M{"$sum": 1}}
		if rapid.Bool().Draw(p.T, "values alone") {
			delete(group, "n")
		}
		command = D{{Key: "aggregate", Value: ""}, {Key: "pipeline", Value: A{M{"$match": filter}, M{"$group": group}}}, {Key: "cursor", Value: M{}}}
	}
	run := func(c *mongo.Collection, more ...bson.E) []string {
		command[0].Value = c.Name()
		var reply bson.Raw
		var err error
		if reply, err = p.db.RunCommand(p.ctx, append(slices.Clone(command), more...)).Raw(); err != nil {
			return []string{"error: " + err.Error()}
		}
		if result == "n" {
			return []string{reply.Lookup("n").String()}
		}
		array := reply.Lookup("values")
		if result == "cursor" {
			require.Zero(p, reply.Lookup("cursor", "id").AsInt64())
			array = reply.Lookup("cursor", "firstBatch")
		}
		values, err := array.Array().Values()
		require.NoError(p, err)
		list := []string{}
		for _, v := range values {
			list = append(list, canonicalValue(v))
		}
		if !ordered {
			slices.Sort(list)
		}
		return list
	}
	want := run(p.plain)
	require.Equal(p, want, run(p.indexed), "%v", command)
	if len(p.names) > 0 {
		hint := rapid.SampledFrom(p.names).Draw(p.T, "hint")
		have := run(p.indexed, bson.E{Key: "hint", Value: hint})
		if len(have) != 1 || !strings.Contains(have[0], "does not imply") {
			require.Equal(p, want, have, "%v with the hint %s", command, hint)
		}
	}
}

// canonicalValue writes equal values equally: numbers without their types.
func canonicalValue(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		return "number " + decimalText(fmt.Sprint(v.AsInt64()))
	case bson.TypeDouble:
		if f := v.Double(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return "number " + decimalText(new(big.Float).SetFloat64(f).Text('f', 60))
		}
		return strings.ToLower(fmt.Sprintf("number %+v", v.Double()))
	case bson.TypeDecimal128:
		switch d := v.Decimal128(); {
		case d.IsNaN():
			return "number nan"
		case d.IsInf() != 0:
			return strings.ToLower(fmt.Sprintf("number %+v", math.Inf(d.IsInf())))
		default:
			f, _, err := new(big.Float).SetPrec(400).Parse(d.String(), 10)
			if err != nil {
				panic(err)
			}
			return "number " + decimalText(f.Text('f', 60))
		}
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		elements, _ := bson.Raw(v.Value).Elements()
		parts := []string{v.Type.String()}
		for _, e := range elements {
			parts = append(parts, e.Key()+": "+canonicalValue(e.Value()))
		}
		return strings.Join(parts, ", ") + ";"
	}
	return v.Type.String() + v.String()
}

// decimalText is a decimal number without the zeros behind its fraction, and without the sign of zero.
func decimalText(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}
