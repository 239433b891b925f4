package events

import (
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// compiler has the names of the labels of a resource's id and role.
type compiler struct{ id, role string }

// labelsCriterion reports whether the labels of one resource match a whole filter.
type labelsCriterion func(labels map[string]string) bool

func (c compiler) resource(f *orchv1.EventResourceFilter) criterion {
	meets := c.labels(f.GetId().GetValues(), f.GetIdPrefix().GetValues(), f.GetLabels())
	if meets == nil {
		return nil
	}
	return func(e *orchv1.ReceivedEvent) bool { return meets(e.GetResource().GetLabels()) }
}

// related requires for each filter that ONE related resource matches it; different resources may match different
// filters.
func (c compiler) related(f *orchv1.EventRelatedFilters) criterion {
	filters := f.GetList().GetValues()
	if f.GetObject() != nil {
		filters = []*orchv1.EventRelatedFilter{f.GetObject()}
	}
	var all []labelsCriterion
	for _, filter := range filters {
		if meets := c.relatedOne(filter); meets != nil {
			all = append(all, meets)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return func(e *orchv1.ReceivedEvent) bool {
		return !slices.ContainsFunc(all, func(meets labelsCriterion) bool { return !anyRelated(e, meets) })
	}
}

func (c compiler) relatedOne(f *orchv1.EventRelatedFilter) labelsCriterion {
	labels := c.labels(f.GetId().GetValues(), nil, f.GetLabels())
	roles, pairs := f.GetRole().GetValues(), f.GetResourcesInRoles().GetValues()
	if labels == nil && len(roles)+len(pairs) == 0 {
		return nil
	}
	return func(resource map[string]string) bool {
		if labels != nil && !labels(resource) {
			return false
		}
		role, has := resource[c.role]
		if len(roles) > 0 && (!has || !slices.Contains(roles, role)) {
			return false
		}
		return len(pairs) == 0 || has && slices.ContainsFunc(pairs, func(p *orchv1.ResourceInRole) bool {
			return p.GetId() == resource[c.id] && p.GetRole() == role
		})
	}
}

// anyResource requires for each filter that the primary resource, or ONE related resource, matches it.
func (c compiler) anyResource(f *orchv1.EventAnyResourceFilters) criterion {
	filters := f.GetList().GetValues()
	if f.GetObject() != nil {
		filters = []*orchv1.EventAnyResourceFilter{f.GetObject()}
	}
	var all []labelsCriterion
	for _, filter := range filters {
		if meets := c.labels(filter.GetId().GetValues(), filter.GetIdPrefix().GetValues(), filter.GetLabels()); meets != nil {
			all = append(all, meets)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return func(e *orchv1.ReceivedEvent) bool {
		return !slices.ContainsFunc(all, func(meets labelsCriterion) bool {
			return !meets(e.GetResource().GetLabels()) && !anyRelated(e, meets)
		})
	}
}

func anyRelated(e *orchv1.ReceivedEvent, meets labelsCriterion) bool {
	return slices.ContainsFunc(e.GetRelated(), func(r *orchv1.RelatedResource) bool { return meets(r.GetLabels()) })
}

// labels returns the criterion on one resource; nil if there is none.
func (c compiler) labels(ids, prefixes []string, spec *orchv1.ResourceSpecification) labelsCriterion {
	if len(ids)+len(prefixes)+len(spec.GetLabels()) == 0 {
		return nil
	}
	wanted := make(map[string]Values, len(spec.GetLabels()))
	for name, values := range spec.GetLabels() {
		wanted[name] = LabelValues(values)
	}
	return func(resource map[string]string) bool {
		if id := resource[c.id]; !oneOf(ids, id) || !begins(prefixes, id) {
			return false
		}
		for name, values := range wanted {
			if value, has := resource[name]; !has || !values.Met(value) {
				return false
			}
		}
		return true
	}
}
