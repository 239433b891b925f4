package value

import "go.mongodb.org/mongo-driver/v2/bson"

var typeNames = []struct {
	name string
	t    Type
}{
	{"double", bson.TypeDouble},
	{"string", bson.TypeString},
	{"object", bson.TypeEmbeddedDocument},
	{"array", bson.TypeArray},
	{"binData", bson.TypeBinary},
	{"undefined", bson.TypeUndefined},
	{"objectId", bson.TypeObjectID},
	{"bool", bson.TypeBoolean},
	{"date", bson.TypeDateTime},
	{"null", bson.TypeNull},
	{"regex", bson.TypeRegex},
	{"dbPointer", bson.TypeDBPointer},
	{"javascript", bson.TypeJavaScript},
	{"symbol", bson.TypeSymbol},
	{"javascriptWithScope", bson.TypeCodeWithScope},
	{"int", bson.TypeInt32},
	{"timestamp", bson.TypeTimestamp},
	{"long", bson.TypeInt64},
	{"decimal", bson.TypeDecimal128},
	{"minKey", bson.TypeMinKey},
	{"maxKey", bson.TypeMaxKey},
}

// TypeName is the alias of a type in $type; "missing" for an absent value.
func TypeName(t Type) string {
	for _, n := range typeNames {
		if n.t == t {
			return n.name
		}
	}
	return "missing"
}

// TypeByName finds a type by its alias.
func TypeByName(name string) (Type, bool) {
	for _, n := range typeNames {
		if n.name == name {
			return n.t, true
		}
	}
	return 0, false
}

// TypeByCode finds a type by its number in $type; -1 is minKey.
func TypeByCode(code int64) (Type, bool) {
	switch code {
	case -1:
		return bson.TypeMinKey, true
	case 0:
		return 0, false
	}
	for _, n := range typeNames {
		if int64(n.t) == code && n.t != bson.TypeMinKey {
			return n.t, true
		}
	}
	return 0, false
}

// Format writes a value as relaxed extended JSON, for messages.
func Format(v Value) string {
	if v.T == Missing {
		return "missing"
	}
	return bson.RawValue{Type: v.T, Value: v.B}.String()
}
