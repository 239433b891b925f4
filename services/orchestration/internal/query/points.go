package query

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxPoints bounds the filters that Points returns.
const maxPoints = 16

// pointFields are the fields with one text each whose values Points separates: the second fields of indexes.
var pointFields = []string{"state.type", "state.name", "event"}

// Points splits a filter with a list of values for one field into filters with one value each. No document matches two of them, and
// each is one range of an index. A filter without such a list, or with a long one, is returned alone.
func Points(filter bson.D) []bson.D {
	for i, e := range filter {
		if !slices.Contains(pointFields, e.Key) {
			continue
		}
		values, ok := points(e.Value)
		if !ok {
			continue
		}
		all := make([]bson.D, len(values))
		for n, value := range values {
			all[n] = slices.Clone(filter)
			all[n][i] = bson.E{Key: e.Key, Value: value}
		}
		return all
	}
	return []bson.D{filter}
}

// points returns the distinct texts of a condition that is one list of two to maxPoints texts.
func points(condition any) ([]string, bool) {
	kind, data, err := bson.MarshalValue(condition)
	if err != nil || kind != bson.TypeEmbeddedDocument {
		return nil, false
	}
	elements, err := bson.Raw(data).Elements()
	if err != nil || len(elements) != 1 || elements[0].Key() != "$in" {
		return nil, false
	}
	list, ok := elements[0].Value().ArrayOK()
	if !ok {
		return nil, false
	}
	values, err := list.Values()
	if err != nil {
		return nil, false
	}
	texts := make([]string, len(values))
	for i, value := range values {
		if texts[i], ok = value.StringValueOK(); !ok {
			return nil, false
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	return texts, len(texts) > 1 && len(texts) <= maxPoints
}
