package openapi

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// direction is the use of a schema: in requests or in responses.
type direction int

const (
	input direction = iota
	output
)

// component is a schema with a name of its own.
type component struct {
	key       componentKey
	schema    *schema
	published string // the final name, assigned by finish
}

// componentKey identifies a component. One message may be published under several names, and under one name in both
// directions if they differ.
type componentKey struct {
	name       string
	descriptor protoreflect.FullName
	direction  direction
}

type components struct {
	byKey map[componentKey]*component
	timed map[protoreflect.FullName]bool // messages that hold a duration, at any depth
}

func newComponents() *components {
	return &components{byKey: map[componentKey]*component{}, timed: map[protoreflect.FullName]bool{}}
}

// declare returns the component of a key, and whether it is new: then the caller sets its schema. Declaration precedes
// description, so messages may contain themselves.
func (c *components) declare(key componentKey) (*component, bool) {
	if existing := c.byKey[key]; existing != nil {
		return existing, false
	}
	fresh := &component{key: key}
	c.byKey[key] = fresh
	return fresh, true
}

// finish assigns the published names and returns the schemas ordered by name.
func (c *components) finish() (*ordered[*schema], error) {
	byName := map[string][]*component{}
	for key, existing := range c.byKey {
		byName[key.name] = append(byName[key.name], existing)
	}
	var all []*component
	for name, sharing := range byName {
		slices.SortFunc(sharing, func(a, b *component) int {
			return strings.Compare(string(a.key.descriptor), string(b.key.descriptor))
		})
		for _, one := range sharing {
			if other := sharing[0].key.descriptor; one.key.descriptor != other {
				return nil, fmt.Errorf("the schema %q is claimed by %s and %s", name, other, one.key.descriptor)
			}
			one.published = name
			if len(sharing) > 1 {
				one.published += [...]string{input: "-Input", output: "-Output"}[one.key.direction]
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *component) int { return strings.Compare(a.published, b.published) })
	out := newOrdered[*schema]()
	for _, one := range all {
		if _, taken := out.get(one.published); taken {
			return nil, fmt.Errorf("the schema name %q is used twice", one.published)
		}
		out.set(one.published, one.schema)
	}
	return out, nil
}

// holdsDuration reports whether a message differs between requests and responses.
func (c *components) holdsDuration(md protoreflect.MessageDescriptor) bool {
	if existing, ok := c.timed[md.FullName()]; ok {
		return existing
	}
	found := reachesDuration(md, map[protoreflect.FullName]bool{})
	c.timed[md.FullName()] = found
	return found
}

func reachesDuration(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if md.FullName() == durationName {
		return true
	}
	if seen[md.FullName()] {
		return false
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.IsMap() {
			fd = fd.MapValue()
		}
		if fd.Message() != nil && !restjson.Internal(md.Fields().Get(i)) && reachesDuration(fd.Message(), seen) {
			return true
		}
	}
	return false
}
