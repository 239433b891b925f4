// Package aggregate compiles aggregation pipelines and runs them as streams of documents.
package aggregate

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/plan"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/project"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Source is a stream of documents. A document's bytes are valid until the next call of Next.
type Source interface {
	Next() (d value.Doc, ok bool, err error)
}

// Pipeline is a compiled pipeline: the leading stages as a query for the planner, and the remaining stages.
type Pipeline struct {
	Query  plan.Query
	stages []stage

	// CountField is set when the whole pipeline only counts the query's matches: the name of the field that holds the number.
	CountField string
	// CountID is the constant _id of the group that counts; missing for $count.
	CountID value.Value

	// GroupPath is set when the whole pipeline only lists the values of a path, up to GroupLimit; 0 means all.
	GroupPath  string
	GroupLimit int64
}

// stage turns one stream into another.
type stage func(in Source) Source

// Compile compiles the stages. A stage outside the subset is a NotImplemented error that names it.
func Compile(stages []value.Value) (*Pipeline, error) {
	p := &Pipeline{}
	q := &p.Query
	var matches []*filter.Filter
	pushing := true // The stages so far are part of the query.
	for i, s := range stages {
		if s.T != bson.TypeEmbeddedDocument || s.Doc().Len() != 1 {
			return nil, mongoerr.New(mongoerr.Kind{Code: 40323, Name: "Location40323"}, "a pipeline stage specification object must contain exactly one field")
		}
		name, arg := s.Doc().First()
		if pushing {
			done, err := push(q, &matches, name, arg)
			if err != nil {
				return nil, err
			}
			if done {
				continue
			}
			pushing = false
			if i == len(stages)-1 {
				if field, id, ok := counts(name, arg); ok {
					p.CountField, p.CountID = field, id
				}
			}
		}
		st, err := compileStage(name, arg)
		if err != nil {
			return nil, err
		}
		p.stages = append(p.stages, st)
	}
	p.groups(stages[len(stages)-len(p.stages):])
	if len(p.stages) > 0 {
		q.Only = onlyField(stages[len(stages)-len(p.stages)].Doc().First())
	}
	q.Filter = filter.All(matches)
	return p, nil
}

// push moves a leading stage into the query when the query's own order (match, sort, skip, limit) allows it.
func push(q *plan.Query, matches *[]*filter.Filter, name string, arg value.Value) (bool, error) {
	switch name {
	case "$match":
		if arg.T != bson.TypeEmbeddedDocument {
			return false, mongoerr.New(mongoerr.Kind{Code: 15959, Name: "Location15959"}, "the match filter must be an expression in an object")
		}
		if q.Skip != 0 || q.Limit != 0 {
			return false, nil
		}
		f, err := filter.Compile(arg.Doc())
		*matches = append(*matches, f)
		return err == nil, err
	case "$sort":
		if q.Sort != nil || q.Skip != 0 || q.Limit != 0 {
			return false, nil
		}
		s, err := compileSortArg(arg)
		q.Sort = s
		return err == nil, err
	case "$skip":
		if q.Limit != 0 {
			return false, nil
		}
		n, err := whole(name, arg, 0)
		q.Skip += n
		return err == nil, err
	case "$limit":
		n, err := whole(name, arg, 1)
		if q.Limit == 0 || n < q.Limit {
			q.Limit = n
		}
		return err == nil, err
	}
	return false, nil
}

func compileSortArg(arg value.Value) (*index.Sort, error) {
	if arg.T != bson.TypeEmbeddedDocument || arg.Doc().Empty() {
		return nil, mongoerr.New(mongoerr.Kind{Code: 15976, Name: "Location15976"}, "$sort stage must have at least one sort key")
	}
	return index.CompileSort(arg.Doc())
}

func whole(name string, arg value.Value, least int64) (int64, error) {
	n, ok := arg.Int()
	if !ok || n < least {
		return 0, mongoerr.New(mongoerr.Kind{Code: 5107201, Name: "Location5107201"}, "invalid argument to %s stage: expected a number of at least %d, not %s", name, least, value.Format(arg))
	}
	return n, nil
}

// counts recognises $count and {$group: {_id: <constant>, n: {$sum: 1}}}, which drivers send to count documents.
func counts(name string, arg value.Value) (field string, id value.Value, ok bool) {
	if name == "$count" && arg.T == bson.TypeString {
		return arg.Str(), value.Value{}, checkCountField(arg.Str()) == nil
	}
	if name != "$group" || arg.T != bson.TypeEmbeddedDocument || arg.Doc().Len() != 2 {
		return "", id, false
	}
	id = arg.Doc().Get("_id")
	if !id.IsNumber() && id.T != bson.TypeNull {
		return "", id, false
	}
	for it := arg.Doc().Iter(); ; {
		k, v, more := it.Next()
		if !more {
			return "", id, false
		}
		if string(k) == "_id" {
			continue
		}
		if v.T == bson.TypeEmbeddedDocument {
			if op, one := v.Doc().First(); op == "$sum" && one.T == bson.TypeInt32 && one.Int32() == 1 && v.Doc().Len() == 1 {
				return string(k), id, true
			}
		}
		return "", id, false
	}
}

// groups recognises {$group: {_id: "$path"}} and a limit behind a filter.
func (p *Pipeline) groups(stages []value.Value) {
	if len(stages) == 0 || len(stages) > 2 || p.Query.Sort != nil || p.Query.Skip > 0 || p.Query.Limit > 0 {
		return
	}
	name, arg := stages[0].Doc().First()
	if name != "$group" || arg.Doc().Len() != 1 {
		return
	}
	id := arg.Doc().Get("_id")
	if id.T != bson.TypeString || len(id.Str()) < 2 || id.Str()[0] != '$' || id.Str()[1] == '$' {
		return
	}
	if len(stages) == 2 {
		name, arg := stages[1].Doc().First()
		if name != "$limit" {
			return
		}
		p.GroupLimit, _ = arg.Int()
	}
	p.GroupPath = id.Str()[1:]
}

// onlyField returns the field that a $group needs: it groups by the field and counts. It is empty when the group needs more.
func onlyField(name string, arg value.Value) string {
	if name != "$group" || arg.T != bson.TypeEmbeddedDocument {
		return ""
	}
	path := ""
	for it := arg.Doc().Iter(); ; {
		k, v, more := it.Next()
		switch {
		case !more:
			return path
		case string(k) == "_id":
			if v.T != bson.TypeString || len(v.Str()) < 2 || v.Str()[0] != '$' || strings.ContainsAny(v.Str()[1:], ".$") {
				return ""
			}
			path = v.Str()[1:]
		case v.T != bson.TypeEmbeddedDocument || v.Doc().Len() != 1:
			return ""
		default:
			if op, one := v.Doc().First(); op != "$count" && (op != "$sum" || !one.IsNumber()) {
				return ""
			}
		}
	}
}

// Run connects the stages to a stream of the query's results.
func (p *Pipeline) Run(in Source) Source {
	for _, s := range p.stages {
		in = s(in)
	}
	return in
}

func compileStage(name string, arg value.Value) (stage, error) {
	switch name {
	case "$match":
		if arg.T != bson.TypeEmbeddedDocument {
			return nil, mongoerr.New(mongoerr.Kind{Code: 15959, Name: "Location15959"}, "the match filter must be an expression in an object")
		}
		f, err := filter.Compile(arg.Doc())
		return func(in Source) Source { return &matching{in, f} }, err
	case "$sort":
		s, err := compileSortArg(arg)
		return func(in Source) Source { return &sorting{in: in, by: s} }, err
	case "$skip":
		n, err := whole(name, arg, 0)
		return func(in Source) Source { return &window{in: in, skip: n, limit: -1} }, err
	case "$limit":
		n, err := whole(name, arg, 1)
		return func(in Source) Source { return &window{in: in, limit: n} }, err
	case "$group":
		return compileGroup(arg)
	case "$count":
		return compileCount(arg)
	case "$project":
		if arg.T != bson.TypeEmbeddedDocument || arg.Doc().Empty() {
			return nil, mongoerr.New(mongoerr.Kind{Code: 15969, Name: "Location15969"}, "the $project specification must be a non-empty object")
		}
		p, err := project.Compile(arg.Doc(), project.Options{})
		return func(in Source) Source { return &mapping{in, p} }, err
	}
	return nil, mongoerr.NotImplemented("aggregation stage %s", name)
}

// Stages are the stages that Compile accepts.
var Stages = []string{"$match", "$sort", "$skip", "$limit", "$count", "$project", "$group"}
