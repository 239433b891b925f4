package command

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/plan"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// explain describes the plan of a find, count, distinct, aggregate, update, delete or findAndModify. It executes no write.
func (s *Service) explain(r *request) (*value.Builder, error) {
	if r.target.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "explain needs a command")
	}
	verbosity := "allPlansExecution"
	if v := r.get("verbosity"); v.T == bson.TypeString {
		verbosity = v.Str()
	}
	m := &wire.Message{RequestID: r.m.RequestID, Body: r.target.Doc(), Sequences: r.m.Sequences, DB: r.m.DB}
	inner := *r
	inner.m = m
	inner.name, inner.target = m.Body.First()
	h, ok := s.table[inner.name]
	if !ok {
		return nil, mongoerr.NotImplemented("explain of command %s", inner.name)
	}
	if err := inner.check(h.options); err != nil {
		return nil, err
	}
	c, ns, err := s.reader(&inner)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	x, err := s.explainRead(&inner, c, verbosity != "queryPlanner")
	if err != nil {
		return nil, err
	}
	b := value.NewBuilder().Open("queryPlanner", bson.TypeEmbeddedDocument).Add("namespace", value.OfString(ns)).
		Add("winningPlan", value.OfDoc(x.Plan)).Add("rejectedPlans", value.OfArray(nil)).Close()
	if verbosity != "queryPlanner" {
		b.Open("executionStats", bson.TypeEmbeddedDocument).Add("executionSuccess", value.True).Add("nReturned", value.OfInt(x.Returned)).
			Add("totalKeysExamined", value.OfInt(x.Keys)).Add("totalDocsExamined", value.OfInt(x.Docs)).Close()
	}
	return b, nil
}

func (s *Service) explainRead(r *request, c *storage.Reader, run bool) (plan.Explanation, error) {
	var q plan.Query
	var err error
	switch r.name {
	case "find":
		q, err = findQuery(r)
	case "count":
		if q, err = countQuery(r); err == nil {
			return plan.ExplainCount(c, q, run)
		}
	case "distinct":
		var key string
		if q, key, err = distinctQuery(r); err == nil {
			return plan.ExplainDistinct(c, q, key, run)
		}
	case "aggregate":
		p, perr := s.pipeline(r)
		if perr != nil {
			return plan.Explanation{}, perr
		}
		if p.CountField != "" {
			return plan.ExplainCount(c, p.Query, run)
		}
		if p.GroupPath != "" {
			if x, ok, err := plan.ExplainGroups(c, p.Query, p.GroupPath, p.GroupLimit); ok || err != nil {
				return x, err
			}
		}
		q = p.Query
	case "findAndModify", "findandmodify":
		q.Hint = r.get("hint")
		if q.Filter, err = r.filter(r.get("query"), "query"); err == nil {
			q.Sort, err = sortOf(r.get("sort"))
		}
		q.Limit = 1
	case "update", "delete":
		docs, derr := r.docs(r.name + "s")
		if derr != nil || len(docs) != 1 {
			return plan.Explanation{}, mongoerr.New(mongoerr.BadValue, "explain needs exactly one %s", r.name)
		}
		q.Hint = docs[0].Get("hint")
		q.Filter, err = r.filter(docs[0].Get("q"), "q")
	default:
		return plan.Explanation{}, mongoerr.NotImplemented("explain of command %s", r.name)
	}
	if err != nil {
		return plan.Explanation{}, err
	}
	return plan.Explain(c, q, run)
}
