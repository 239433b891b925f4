package update

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func (u *Update) compileOperator(op string, v value.Value) error {
	switch op {
	case "$set", "$setOnInsert", "$unset", "$inc", "$mul", "$min", "$max", "$rename", "$push", "$pull", "$pullAll", "$addToSet", "$pop", "$currentDate":
	default:
		return mongoerr.NotImplemented("update operator %s", op)
	}
	if v.T != bson.TypeEmbeddedDocument {
		return mongoerr.New(mongoerr.FailedToParse, "modifiers operate on fields but we found type %s instead: %s", value.TypeName(v.T), op)
	}
	u.mods = slices.Grow(u.mods, v.Doc().Len())
	for it := v.Doc().Iter(); ; {
		k, arg, ok := it.Next()
		if !ok {
			return nil
		}
		m := modifier{op: op, arg: arg}
		var err error
		if m.path, err = u.splitPath(string(k)); err != nil {
			return err
		}
		switch op {
		case "$inc", "$mul":
			if !arg.IsNumber() {
				return mongoerr.New(mongoerr.TypeMismatch, "cannot %s with non-numeric argument: {%s: %s}", op[1:], k, value.Format(arg))
			}
		case "$rename":
			err = u.compileRename(&m, string(k))
		case "$push", "$addToSet":
			m.push, err = compilePush(op, arg)
		case "$pull":
			m.pull, err = compilePull(arg)
		case "$pullAll":
			if arg.T != bson.TypeArray {
				err = mongoerr.New(mongoerr.BadValue, "$pullAll requires an array argument but was given a %s", value.TypeName(arg.T))
			}
		case "$pop":
			if n, ok := arg.Int(); !ok || (n != 1 && n != -1) {
				err = mongoerr.New(mongoerr.FailedToParse, "$pop expects 1 or -1, found: %s", value.Format(arg))
			}
		case "$currentDate":
			err = checkCurrentDate(arg)
		}
		if err != nil {
			return err
		}
		u.mods = append(u.mods, m)
	}
}

func (u *Update) splitPath(s string) ([]string, error) {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		switch {
		case p == "":
			return nil, mongoerr.New(mongoerr.EmptyFieldName, "the update path '%s' contains an empty field name, which is not allowed", s)
		case p == "$":
			if i == 0 || u.positional && strings.Count(s, ".$.") > 1 {
				return nil, mongoerr.New(mongoerr.BadValue, "the update path '%s' uses the positional operator where it cannot stand", s)
			}
			u.positional = true
		case strings.HasPrefix(p, "$[") && strings.HasSuffix(p, "]"):
			if i == 0 {
				return nil, mongoerr.New(mongoerr.BadValue, "cannot have array filter identifier (i.e. '$[<id>]') as the first part of '%s'", s)
			}
		case strings.HasPrefix(p, "$") && !(i > 0 && (p == "$ref" || p == "$id" || p == "$db")):
			return nil, mongoerr.New(mongoerr.DollarPrefixed, "the dollar ($) prefixed field '%s' in '%s' is not allowed", p, s)
		}
	}
	return parts, nil
}

// compileRename makes the target the modifier's path: {$rename: {from: "to"}}.
func (u *Update) compileRename(m *modifier, from string) error {
	if m.arg.T != bson.TypeString {
		return mongoerr.New(mongoerr.BadValue, "the 'to' field for $rename must be a string: %s", from)
	}
	to, err := u.splitPath(m.arg.Str())
	if err != nil {
		return err
	}
	for _, p := range append(append([]string{}, m.path...), to...) {
		if strings.HasPrefix(p, "$") {
			return mongoerr.New(mongoerr.BadValue, "$rename fields may not be dynamic: %s", from)
		}
	}
	m.from, m.path = m.path, to
	if strings.Join(m.from, ".") == strings.Join(to, ".") {
		return mongoerr.New(mongoerr.BadValue, "the source and target field for $rename must differ: %s", from)
	}
	return nil
}

func checkCurrentDate(arg value.Value) error {
	if arg.T == bson.TypeBoolean {
		return nil
	}
	if arg.T == bson.TypeEmbeddedDocument {
		if t := arg.Doc().Get("$type"); t.T == bson.TypeString && arg.Doc().Len() == 1 && (t.Str() == "date" || t.Str() == "timestamp") {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "$currentDate takes true or {$type: 'date'|'timestamp'}, not %s", value.Format(arg))
}
