package inference

import (
	"maps"
	"slices"
)

const (
	// maxDepth is the number of containers around a container of which the schema says something.
	maxDepth = 8
	// maxProperties bounds the names of an object's properties, and maxName the bytes of one. An object beyond is a map.
	maxProperties = 100
	maxName       = 128
)

// Schema describes the values of samples. It is immutable.
type Schema struct {
	// any is set for values that nothing is said of. All other fields are zero then.
	any    bool
	types  typeSet
	format format
	// items describes the items of arrays; nil if no array had one.
	items *Schema
	// properties describes objects. It is nil for maps, of which values describes all values.
	properties map[string]property
	values     *Schema
	// required is the number of required properties.
	required int
}

// property is a member of an object.
type property struct {
	schema   *Schema
	required bool
}

// typeSet is a set of JSON types.
type typeSet uint8

const (
	typeArray typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeNull
	typeNumber
	typeObject
	typeString
)

// typeNames are the names of the types in the order of their bits. The bits are in the order of the names.
var typeNames = [...]string{"array", "boolean", "integer", "null", "number", "object", "string"}

func (t typeSet) has(one typeSet) bool { return t&one != 0 }

// union returns the types of both. A number may be an integer.
func (t typeSet) union(other typeSet) typeSet {
	t |= other
	if t.has(typeNumber) {
		t &^= typeInteger
	}
	return t
}

// format is the format of texts. The zero format means that there is no text.
type format uint8

const (
	formatUUID format = iota + 1
	formatDateTime
	// formatNone means texts with different formats, or without a format.
	formatNone
)

var formatNames = map[format]string{formatUUID: "uuid", formatDateTime: "date-time"}

// union returns the format of the texts of both.
func (f format) union(other format) format {
	switch {
	case f == 0 || f == other:
		return other
	case other == 0:
		return f
	}
	return formatNone
}

// anything is the schema of all values.
var anything = &Schema{any: true}

// Merge returns the schema that the samples of both satisfy. nil is the schema without samples.
func Merge(a, b *Schema) *Schema {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	case a.any || b.any:
		return anything
	case a.includes(b):
		return a
	}
	merged := &Schema{types: a.types.union(b.types), format: a.format.union(b.format), items: Merge(a.items, b.items)}
	switch {
	case !b.types.has(typeObject):
		merged.properties, merged.values = a.properties, a.values
	case !a.types.has(typeObject):
		merged.properties, merged.values = b.properties, b.values
	case a.values != nil || b.values != nil:
		merged.values = Merge(a.asMap(), b.asMap())
	default:
		merged.properties = mergeProperties(a.properties, b.properties)
	}
	return merged.bounded()
}

// includes reports whether merging another schema changes nothing. Most samples and items bring nothing new, and it makes no copy.
func (s *Schema) includes(other *Schema) bool {
	switch {
	case s == other || other == nil:
		return true
	case s == nil:
		return false
	case s.any || other.any:
		return s.any
	case s.types.union(other.types) != s.types || s.format.union(other.format) != s.format || !s.items.includes(other.items):
		return false
	case s.values != nil:
		for _, one := range other.properties {
			if !s.values.includes(one.schema) {
				return false
			}
		}
		return s.values.includes(other.values)
	case other.values != nil:
		return false
	}
	return !other.types.has(typeObject) || s.includesProperties(other)
}

// includesProperties is includes for objects with properties.
func (s *Schema) includesProperties(other *Schema) bool {
	required := 0
	for name, one := range other.properties {
		own, ok := s.properties[name]
		if !ok || own.required && !one.required || !own.schema.includes(one.schema) {
			return false
		}
		if own.required {
			required++
		}
	}
	return required == s.required
}

// bounded turns an object with too many properties into a map, and counts the required ones. The caller has the only reference to the schema.
func (s *Schema) bounded() *Schema {
	if isMap(s.properties) {
		s.values, s.properties = s.asMap(), nil
	}
	s.required = 0
	for _, one := range s.properties {
		if one.required {
			s.required++
		}
	}
	return s
}

// mergeProperties returns the properties of both. A property is required if both require it.
func mergeProperties(a, b map[string]property) map[string]property {
	merged := make(map[string]property, max(len(a), len(b)))
	for name, one := range a {
		other, both := b[name]
		merged[name] = property{Merge(one.schema, other.schema), both && one.required && other.required}
	}
	for name, one := range b {
		if _, both := a[name]; !both {
			merged[name] = property{one.schema, false}
		}
	}
	return merged
}

// isMap reports whether properties are too many, or have a name that is too long.
func isMap(properties map[string]property) bool {
	if len(properties) > maxProperties {
		return true
	}
	for name := range properties {
		if len(name) > maxName {
			return true
		}
	}
	return false
}

// asMap returns one schema for all values of an object, whether the object is a map or has properties. It is nil for an object without
// properties.
func (s *Schema) asMap() *Schema {
	values := s.values
	for _, one := range s.properties {
		values = Merge(values, one.schema)
	}
	return values
}

// Within returns the schema if its text has at most so many bytes. Otherwise it says less of the deepest containers, so that it fits.
func (s *Schema) Within(bytes int) *Schema {
	for depth := maxDepth; len(s.JSON()) > bytes && depth > 0; {
		depth--
		s = s.cut(depth)
	}
	return s
}

// cut returns the schema without what it says of containers within depth others.
func (s *Schema) cut(depth int) *Schema {
	if s == nil || s.any || !s.types.has(typeArray|typeObject) {
		return s
	}
	if depth == 0 {
		return anything
	}
	shorter := *s
	shorter.items, shorter.values = s.items.cut(depth-1), s.values.cut(depth-1)
	shorter.properties = maps.Clone(s.properties)
	for name, one := range shorter.properties {
		shorter.properties[name] = property{one.schema.cut(depth - 1), one.required}
	}
	return &shorter
}

// names returns the names of the properties in order.
func (s *Schema) names() []string { return slices.Sorted(maps.Keys(s.properties)) }
