package aggregate

import (
	"bytes"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/project"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

type unwinding struct {
	in       Source
	path     []string
	position string // Field that gets the element's position; empty for none.
	keep     bool   // Documents without elements pass.
	cur      value.Doc
	elements []value.Value
	n        int64
}

func compileUnwind(arg value.Value) (stage, error) {
	u := unwinding{}
	path := arg
	if arg.T == bson.TypeEmbeddedDocument {
		for it := arg.Doc().Iter(); ; {
			k, v, ok := it.Next()
			if !ok {
				break
			}
			switch string(k) {
			case "path":
				path = v
			case "preserveNullAndEmptyArrays":
				u.keep = v.Truthy()
			case "includeArrayIndex":
				if u.position = v.Str(); v.T != bson.TypeString || u.position == "" || u.position[0] == '$' {
					return nil, mongoerr.New(mongoerr.Kind{Code: 28810, Name: "Location28810"}, "includeArrayIndex must be a non-empty string without a dollar sign")
				}
			default:
				return nil, mongoerr.New(mongoerr.Kind{Code: 28811, Name: "Location28811"}, "unrecognized option to $unwind stage: %s", k)
			}
		}
	}
	if path.T != bson.TypeString || !strings.HasPrefix(path.Str(), "$") || len(path.Str()) < 2 {
		return nil, mongoerr.New(mongoerr.Kind{Code: 28818, Name: "Location28818"}, "path option to $unwind stage should be prefixed with a '$': %s", value.Format(path))
	}
	u.path = strings.Split(path.Str()[1:], ".")
	return func(in Source, _ int64) Source {
		x := u
		x.in = in
		return &x
	}, nil
}

func (u *unwinding) Next() (value.Doc, bool, error) {
	for len(u.elements) == 0 {
		d, ok, err := u.in.Next()
		if err != nil || !ok {
			return nil, false, err
		}
		v := d.Path(u.path)
		switch {
		case v.T == bson.TypeArray && !v.Doc().Empty():
			u.cur = bytes.Clone(d)
			u.elements, u.n = u.cur.Path(u.path).Doc().Values(), 0
		case v.T == bson.TypeArray && u.keep:
			return u.mark(project.Set(d, u.path, value.Value{}), value.Null), true, nil
		case v.T == bson.TypeArray:
		case !v.IsNullish() || u.keep:
			return u.mark(d, value.Null), true, nil
		}
	}
	e := u.elements[0]
	u.elements = u.elements[1:]
	d := u.mark(project.Set(u.cur, u.path, e), value.OfInt64(u.n))
	u.n++
	return d, true, nil
}

func (u *unwinding) mark(d value.Doc, pos value.Value) value.Doc {
	if u.position == "" {
		return d
	}
	return project.Set(d, strings.Split(u.position, "."), pos)
}
