package query

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// complement returns the filter of the workspace's other documents, if they are likely fewer and found by index keys: those that a
// negation excludes. ok is false for other filters.
func complement(c Collection, filter bson.D) (rest bson.D, ok bool) {
	if len(filter) != 2 || filter[0].Key != workspaceKey {
		return nil, false
	}
	condition, ok := filter[1].Value.(bson.D)
	if !ok || len(condition) != 1 {
		return nil, false
	}
	not := bson.E{Value: condition[0].Value}
	switch condition[0].Key {
	case "$nin":
		not.Key = "$in"
	case "$ne":
		if partial(c, filter[1].Key) {
			return nil, false // An index has exactly these documents.
		}
		not.Key = "$eq"
	case "$exists":
		present, isBool := condition[0].Value.(bool)
		if present || !isBool {
			return nil, false
		}
		not = bson.E{Key: "$exists", Value: true}
	case "$eq":
		if condition[0].Value != nil || !partial(c, filter[1].Key) {
			return nil, false
		}
		not.Key = "$ne"
	default:
		return nil, false
	}
	return bson.D{filter[0], {Key: filter[1].Key, Value: bson.D{not}}}, true
}

// partial reports whether an index has the documents with a field only.
func partial(c Collection, field string) bool {
	return slices.ContainsFunc(Indexes(), func(ix Index) bool {
		return ix.Collection == c && len(ix.Partial) == 1 && ix.Partial[0].Key == field && ix.Keys[0].Key == workspaceKey && ix.Keys[1].Key == field
	})
}
