package query

import (
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// resourceCriteria must all hold for one resource. pairs are ids with roles, one of which it must have.
type resourceCriteria struct {
	ids, prefixes, roles []string
	pairs                []*orchv1.ResourceInRole
	labels               map[string]*orchv1.StringOrList
}

func (e eventFilter) resource(f *orchv1.EventResourceFilter) (node, error) {
	return e.own(resourceCriteria{
		ids: f.GetId().GetValues(), prefixes: f.GetIdPrefix().GetValues(), labels: f.GetLabels().GetLabels(),
	})
}

func (e eventFilter) allRelated(f *orchv1.EventRelatedFilters) (node, error) {
	list := f.GetList().GetValues()
	if f.GetObject() != nil {
		list = []*orchv1.EventRelatedFilter{f.GetObject()}
	}
	kids := make([]node, len(list))
	for i, r := range list {
		var err error
		if kids[i], err = e.related(resourceCriteria{
			ids: r.GetId().GetValues(), roles: r.GetRole().GetValues(), pairs: r.GetResourcesInRoles().GetValues(),
			labels: r.GetLabels().GetLabels(),
		}); err != nil {
			return nil, err
		}
	}
	return and(kids...), nil
}

func (e eventFilter) allAny(f *orchv1.EventAnyResourceFilters) (node, error) {
	list := f.GetList().GetValues()
	if f.GetObject() != nil {
		list = []*orchv1.EventAnyResourceFilter{f.GetObject()}
	}
	kids := make([]node, len(list))
	for i, r := range list {
		c := resourceCriteria{
			ids: r.GetId().GetValues(), prefixes: r.GetIdPrefix().GetValues(), labels: r.GetLabels().GetLabels(),
		}
		if len(c.ids) > 0 && len(c.prefixes)+len(c.labels) == 0 {
			kids[i] = criterion("resource_ids", "$in", c.ids)
			continue
		}
		one, err := anyBegins("resource_ids", c.prefixes)
		if err != nil {
			return nil, err
		}
		if len(c.prefixes) > 0 && len(c.ids)+len(c.labels) == 0 {
			kids[i] = one
			continue
		}
		own, err := e.own(c)
		if err != nil {
			return nil, err
		}
		related, err := e.related(c)
		if err != nil {
			return nil, err
		}
		kids[i] = or(own, related)
		if len(c.ids) > 0 {
			one = criterion("resource_ids", "$in", c.ids)
		}
		kids[i] = and(one, kids[i]) // One index range for both sides of the or.
	}
	return and(kids...), nil
}

// own matches events whose primary resource meets the criteria.
func (e eventFilter) own(c resourceCriteria) (node, error) {
	var kids []node
	if len(c.ids) > 0 {
		kids = append(kids, criterion("resource_id", "$in", c.ids))
	}
	n, err := prefixed("resource_id", c.prefixes)
	if err != nil {
		return nil, err
	}
	kids = append(kids, n)
	for _, name := range slices.Sorted(maps.Keys(c.labels)) {
		var n node
		var err error
		if values := events.LabelValues(c.labels[name]); name == e.id {
			n, err = specified("resource_id", values) // Every resource has an id, and this field has its index.
		} else {
			n, err = label("resource", name, values)
		}
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
	}
	return and(kids...), nil
}

// related matches events with a related resource that meets the criteria; without criteria, all events.
func (e eventFilter) related(c resourceCriteria) (node, error) {
	var kids []node
	if len(c.ids) > 0 {
		kids = append(kids, pair("labels", e.id, criterion("v", "$in", c.ids)))
	}
	n, err := prefixed("v", c.prefixes)
	if err != nil {
		return nil, err
	}
	if len(c.prefixes) > 0 {
		kids = append(kids, pair("labels", e.id, n))
	}
	if len(c.roles) > 0 {
		kids = append(kids, pair("labels", e.role, criterion("v", "$in", c.roles)))
	}
	inRoles := make([]node, len(c.pairs))
	for i, p := range c.pairs {
		inRoles[i] = and(
			pair("labels", e.id, criterion("v", "$eq", p.GetId())),
			pair("labels", e.role, criterion("v", "$eq", p.GetRole())),
		)
	}
	kids = append(kids, or(inRoles...))
	for _, name := range slices.Sorted(maps.Keys(c.labels)) {
		n, err := label("labels", name, events.LabelValues(c.labels[name]))
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
	}
	one := and(kids...)
	if _, all := one.(matchAll); all {
		return one, nil
	}
	d, err := toBSON(one)
	if err != nil {
		return nil, err
	}
	oneMatches := criterion("related", "$elemMatch", d)
	if ids := relatedIDs(c); len(ids) > 0 {
		return and(criterion("resource_ids", "$in", ids), oneMatches), nil
	}
	return oneMatches, nil
}

// relatedIDs returns ids of which every matching resource has one, for the index on resource_ids.
func relatedIDs(c resourceCriteria) []string {
	if len(c.ids) > 0 {
		return c.ids
	}
	ids := make([]string, len(c.pairs))
	for i, p := range c.pairs {
		ids[i] = p.GetId()
	}
	return ids
}

// pair matches documents whose list of {k, v} at path has the key k with a value that v matches.
func pair(path, k string, v node) node {
	d, err := toBSON(and(match{{Key: "k", Value: bson.D{{Key: "$eq", Value: k}}}}, v))
	if err != nil {
		panic(err) // The criteria of one label never refer to another collection.
	}
	return criterion(path, "$elemMatch", d)
}

// label matches documents whose list of pairs at path has the label k with one of the values.
func label(path, k string, values events.Values) (node, error) {
	if len(values) == 0 {
		return never(path), nil
	}
	v, err := specified("v", values)
	if err != nil {
		return nil, err
	}
	return pair(path, k, v), nil
}

// specified matches the string at path if it meets one of the values that a ResourceSpecification has for a label.
func specified(path string, values events.Values) (node, error) {
	if len(values) == 0 {
		return never(path), nil
	}
	var exact []string
	kids := make([]node, 0, len(values))
	for _, v := range values {
		if v.Exact() && !v.Unwanted {
			exact = append(exact, v.Glob)
			continue
		}
		n, err := valued(path, v)
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
	}
	if len(exact) > 0 {
		kids = slices.Insert(kids, 0, node(criterion(path, "$in", exact)))
	}
	return or(kids...), nil
}

// valued matches the string at path against one value. It prefers exact values and ranges, which an index can evaluate.
func valued(path string, v events.Value) (node, error) {
	if v.Exact() {
		return criterion(path, "$ne", v.Glob), nil
	}
	if len(v.Glob) > MaxPattern {
		return nil, fmt.Errorf("search for a label's value of %d bytes: %w", len(v.Glob), ErrLongText)
	}
	within := regex(path, v.Pattern(), "")
	if prefix, ok := v.Prefix(); ok {
		var err error
		if within, err = begins(path, prefix); err != nil {
			return nil, err
		}
	}
	if v.Unwanted {
		return match{{Key: path, Value: not(within)}}, nil
	}
	return within, nil
}
