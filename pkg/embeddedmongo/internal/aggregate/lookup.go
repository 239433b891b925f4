package aggregate

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// semiJoins recognises the stages that select documents by related ones, and returns them as one filter. n is the number of stages:
//
//	{$lookup: {from, localField, foreignField, pipeline, as: "runs"}}   any number of them
//	{$match:  {runs: {$ne: []}}}                                        any logical combination, and conditions of other fields
//	{$unset:  ["runs"]}                                                 all that the lookups added
//
// The pipeline of a $lookup has $match stages, and may have such a block itself. Any other $lookup is NotImplemented.
func semiJoins(stages []value.Value, now int64) (f *filter.Filter, n int, err error) {
	by := map[string]*filter.Related{}
	for ; n < len(stages); n++ {
		name, arg := stageOf(stages[n])
		if name != "$lookup" {
			break
		}
		as, related, err := compileLookup(arg, now)
		if err != nil {
			return nil, 0, err
		}
		if by[as] != nil {
			return nil, 0, mongoerr.NotImplemented("two $lookup stages with the result %q", as)
		}
		by[as] = related
	}
	if len(stages) < n+2 {
		return nil, 0, mongoerr.NotImplemented("$lookup without $match and $unset of its result")
	}
	name, match := stageOf(stages[n])
	if name != "$match" || match.T != bson.TypeEmbeddedDocument {
		return nil, 0, mongoerr.NotImplemented("$lookup before %s: a $match must follow", name)
	}
	name, unset := stageOf(stages[n+1])
	if name != "$unset" || !removesAll(unset, by) {
		return nil, 0, mongoerr.NotImplemented("$lookup and $match without an $unset of exactly the results")
	}
	if f, err = filter.Compile(match.Doc(), now); err != nil {
		return nil, 0, err
	}
	f, err = f.Relate(by)
	return f, n + 2, err
}

// stageOf returns the name and the argument of a stage; no name if it is no stage.
func stageOf(s value.Value) (name string, arg value.Value) {
	if s.T != bson.TypeEmbeddedDocument || s.Doc().Len() != 1 {
		return "", arg
	}
	return s.Doc().First()
}

// removesAll reports whether the argument of $unset names the results of all lookups and nothing else.
func removesAll(unset value.Value, by map[string]*filter.Related) bool {
	names := []value.Value{unset}
	if unset.T == bson.TypeArray {
		names = unset.Doc().Values()
	}
	return len(names) == len(by) && !slices.ContainsFunc(names, func(v value.Value) bool {
		return v.T != bson.TypeString || by[v.Str()] == nil
	})
}

func compileLookup(arg value.Value, now int64) (as string, related *filter.Related, err error) {
	if arg.T != bson.TypeEmbeddedDocument {
		return "", nil, mongoerr.New(mongoerr.FailedToParse, "the $lookup stage specification must be an object")
	}
	related = &filter.Related{}
	stages := value.OfArray(nil)
	texts := map[string]*string{"from": &related.From, "localField": &related.Path, "foreignField": &related.Foreign, "as": &as}
	for it := arg.Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		text := texts[string(k)]
		switch {
		case string(k) == "pipeline" && v.T == bson.TypeArray:
			stages = v
		case text == nil:
			return "", nil, mongoerr.NotImplemented("$lookup with %q", k)
		case v.T != bson.TypeString:
			return "", nil, mongoerr.New(mongoerr.FailedToParse, "$lookup argument '%s' must be a string", k)
		default:
			*text = v.Str()
		}
	}
	for name, text := range texts {
		if *text == "" {
			return "", nil, mongoerr.NotImplemented("$lookup without %q", name)
		}
		if name != "from" && strings.ContainsAny(*text, ".$") {
			return "", nil, mongoerr.NotImplemented("$lookup with %s %q: a name without dots is needed", name, *text)
		}
	}
	related.Far, err = compileFar(stages.Doc().Values(), now)
	return as, related, err
}

// compileFar compiles the pipeline of a $lookup, which only selects documents.
func compileFar(stages []value.Value, now int64) (*filter.Filter, error) {
	p, err := Compile(stages, now)
	if err != nil {
		return nil, err
	}
	if len(p.stages) > 0 || p.Query.Sort != nil || p.Query.Skip > 0 || p.Query.Limit > 0 {
		return nil, mongoerr.NotImplemented("$lookup with a pipeline of other stages than $match and $lookup")
	}
	return p.Query.Filter, nil
}
