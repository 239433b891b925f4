package query

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// lookups translates criteria of related documents into stages for a reader that joins:
//
//	{$lookup: {from: "flow_run", localField: "_id", foreignField: "flow_id", pipeline: [{$match: …}], as: "related0"}}
//	{$match:  {related0: {$ne: []}}}
//	{$unset:  ["related0"]}
//
// Relations below or_ and below other relations are conditions of the same $match, or stages of the pipeline.
type lookups struct {
	ws     uuid.UUID
	stages []bson.D
	names  bson.A
}

// joinStages returns the scoped filter of the criteria that need no other collection, and the stages for all others.
func joinStages(ws uuid.UUID, root node) (filter bson.D, stages []bson.D, err error) {
	kids := []node{root}
	if n, ok := root.(join); ok && !n.or {
		kids = n.kids
	}
	l := lookups{ws: ws}
	var own, conditions []bson.D
	for _, k := range kids {
		d, err := l.condition(k)
		if err != nil {
			return nil, nil, err
		}
		if related(k) {
			conditions = append(conditions, d)
		} else {
			own = append(own, d)
		}
	}
	filter = Scope(ws, allOf(own))
	if len(l.names) == 0 {
		return filter, nil, nil
	}
	return filter, append(l.stages, bson.D{{Key: "$match", Value: allOf(conditions)}}, bson.D{{Key: "$unset", Value: l.names}}), nil
}

// condition returns the filter of a criterion. It adds the stages for its relations.
func (l *lookups) condition(n node) (bson.D, error) {
	switch n := n.(type) {
	case exists:
		return l.exists(n)
	case join:
		list := make([]bson.D, len(n.kids))
		for i, k := range n.kids {
			var err error
			if list[i], err = l.condition(k); err != nil {
				return nil, err
			}
		}
		if n.or {
			return anyOf(list), nil
		}
		return allOf(list), nil
	}
	return toBSON(n)
}

func (l *lookups) exists(e exists) (bson.D, error) {
	filter, stages, err := joinStages(l.ws, e.in)
	if err != nil {
		return nil, err
	}
	pipeline := append(bson.A{}, bson.D{{Key: "$match", Value: e.rel.referring(filter)}})
	for _, s := range stages {
		pipeline = append(pipeline, s)
	}
	as := "related" + strconv.Itoa(len(l.names))
	l.names = append(l.names, as)
	l.stages = append(l.stages, bson.D{{Key: "$lookup", Value: bson.D{
		{Key: "from", Value: string(e.rel.to)},
		{Key: "localField", Value: e.rel.local},
		{Key: "foreignField", Value: e.rel.foreign},
		{Key: "pipeline", Value: pipeline},
		{Key: "as", Value: as},
	}}})
	op := "$ne"
	if e.not {
		op = "$eq"
	}
	return criterion(as, op, bson.A{}).bson(), nil
}

// selectJoined is Select for a reader that joins: the store selects everything in one command.
func (r Resolver) selectJoined(ws uuid.UUID, own Collection, root node) (*Selection, error) {
	filter, stages, err := joinStages(ws, root)
	if err != nil {
		return nil, fmt.Errorf("query: select %s: %w", own, err)
	}
	return &Selection{resolver: r, ws: ws, own: own, filter: filter, stages: stages, narrow: &narrowing{}, related: true}, nil
}

// visitJoined visits the documents of a filter that the stages select, and returns their number.
func (s *Selection) visitJoined(ctx context.Context, filter bson.D, o StreamOptions, visit func(bson.Raw) error) (n int64, err error) {
	stages := s.stages[:len(s.stages):len(s.stages)]
	if len(o.Sort) > 0 {
		stages = append(stages, bson.D{{Key: "$sort", Value: o.Sort}})
	}
	if o.Skip > 0 {
		stages = append(stages, bson.D{{Key: "$skip", Value: o.Skip}})
	}
	if o.Limit > 0 {
		stages = append(stages, bson.D{{Key: "$limit", Value: o.Limit}})
	}
	err = each(s.resolver.Reader.Aggregate(ctx, s.own, filter, stages), func(doc bson.Raw) error {
		n++
		return visit(doc)
	})
	return n, err
}
