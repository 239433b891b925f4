// Package restjsontest generates random messages of any descriptor, for property tests of mappings.
//
// A generated message is complete and canonical: writing it as REST JSON and reading that back returns the same message. So
// fields that are never null are set, values are within their bounds, times have whole microseconds, and free JSON has no white
// space.
package restjsontest

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
)

// Option configures the generator.
type Option func(*drawer)

// WithInternal also sets fields that are stored but not part of REST.
func WithInternal() Option { return func(d *drawer) { d.internal = true } }

// WithoutComputed omits fields that are part of REST but not stored.
func WithoutComputed() Option { return func(d *drawer) { d.computed = false } }

// WithDepth bounds the nesting of optional messages. The default is 4.
func WithDepth(n int) Option { return func(d *drawer) { d.depth = n } }

// Messages generates messages of the type of T.
func Messages[T proto.Message](opts ...Option) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		var zero T
		return Draw(t, zero.ProtoReflect().Type(), opts...).(T)
	})
}

// Draw draws one message of a type.
func Draw(t *rapid.T, mt protoreflect.MessageType, opts ...Option) proto.Message {
	d := &drawer{t: t, computed: true, depth: 4}
	for _, opt := range opts {
		opt(d)
	}
	m := mt.New()
	d.message(m, 0)
	return m.Interface()
}

type drawer struct {
	t                  *rapid.T
	internal, computed bool
	depth              int
}

func (d *drawer) message(m protoreflect.Message, depth int) {
	md := m.Descriptor()
	if restjson.Union(md) != nil {
		d.union(m, depth)
		return
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if !d.wanted(fd) {
			continue
		}
		switch {
		case fd.IsList():
			d.list(m.Mutable(fd).List(), fd, depth)
		case fd.IsMap():
			d.entries(m.Mutable(fd).Map(), fd, depth)
		case fd.HasOptionalKeyword() && (nested(fd) && depth >= d.depth || !d.flip("set "+string(fd.Name()))):
			// unset
		case nested(fd):
			d.message(m.Mutable(fd).Message(), depth+1)
		default:
			m.Set(fd, d.scalar(fd, fd, fd.HasOptionalKeyword()))
		}
	}
}

func (d *drawer) wanted(fd protoreflect.FieldDescriptor) bool {
	switch {
	case restjson.Internal(fd):
		return d.internal
	case restjson.Computed(fd):
		return d.computed
	case fd.Message() != nil && fd.Message().FullName() == "google.protobuf.FieldMask":
		return false
	}
	return true
}

// union sets one variant. Beyond the depth it chooses the one with the least nesting.
func (d *drawer) union(m protoreflect.Message, depth int) {
	var fds []protoreflect.FieldDescriptor
	for i := range m.Descriptor().Fields().Len() {
		if fd := m.Descriptor().Fields().Get(i); d.wanted(fd) {
			fds = append(fds, fd)
		}
	}
	fd := fds[0]
	if depth < d.depth {
		fd = rapid.SampledFrom(fds).Draw(d.t, "variant")
	} else {
		for _, other := range fds {
			if height(other, 0) < height(fd, 0) {
				fd = other
			}
		}
	}
	if nested(fd) {
		d.message(m.Mutable(fd).Message(), depth+1)
		return
	}
	m.Set(fd, d.scalar(fd, fd, false))
}

// height returns the minimum nesting of messages below a field, up to a bound that only endless ones reach.
func height(fd protoreflect.FieldDescriptor, above int) int {
	const endless = 16
	if !nested(fd) || fd.IsList() || fd.IsMap() || above >= endless {
		return above
	}
	md := fd.Message()
	worst, best := above, endless
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		if f.HasOptionalKeyword() {
			continue
		}
		h := height(f, above+1)
		worst, best = max(worst, h), min(best, h)
	}
	if restjson.Union(md) != nil {
		return best
	}
	return worst
}

// nested reports whether the values of a field are messages of the API.
func nested(fd protoreflect.FieldDescriptor) bool {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	if fd.Message() == nil {
		return false
	}
	switch fd.Message().FullName() {
	case "google.protobuf.Timestamp", "google.protobuf.Duration":
		return false
	}
	return true
}

func (d *drawer) flip(label string) bool { return rapid.Bool().Draw(d.t, label) }

// size draws the length of a list or map within the bounds of its field.
func (d *drawer) size(fd protoreflect.FieldDescriptor, depth int) int {
	opts := restjson.Options(fd)
	least, most := int(opts.GetMinItems()), int(opts.GetMaxItems())
	if most == 0 {
		most = max(3, least)
	}
	if nested(fd) && depth >= d.depth {
		most = least
	}
	return rapid.IntRange(least, min(most, least+3)).Draw(d.t, "size of "+string(fd.Name()))
}

func (d *drawer) list(list protoreflect.List, fd protoreflect.FieldDescriptor, depth int) {
	seen := map[any]bool{}
	n := d.size(fd, depth)
	for tries := 0; list.Len() < n && tries < 100; tries++ {
		if nested(fd) {
			v := list.NewElement()
			d.message(v.Message(), depth+1)
			list.Append(v)
			continue
		}
		v := d.scalar(fd, fd, false)
		if restjson.Options(fd).GetUnique() {
			if seen[v.Interface()] {
				continue
			}
			seen[v.Interface()] = true
		}
		list.Append(v)
	}
}

func (d *drawer) entries(entries protoreflect.Map, fd protoreflect.FieldDescriptor, depth int) {
	for range d.size(fd, depth) {
		key := d.key(fd)
		if nested(fd) {
			v := entries.NewValue()
			d.message(v.Message(), depth+1)
			entries.Set(key, v)
			continue
		}
		entries.Set(key, d.scalar(fd, fd.MapValue(), false))
	}
}

// key draws the key of a map. Maps for unnamed keys exclude the named ones.
func (d *drawer) key(fd protoreflect.FieldDescriptor) protoreflect.MapKey {
	named := map[string]bool{}
	if restjson.Options(fd).GetExtra() {
		md := fd.ContainingMessage()
		named[restjson.Shape(md).GetTagKey()] = true
		for i := range md.Fields().Len() {
			named[restjson.Name(md.Fields().Get(i))] = true
		}
	}
	key := rapid.StringN(0, 8, -1).Filter(func(s string) bool { return !named[s] })
	return protoreflect.ValueOfString(key.Draw(d.t, "key")).MapKey()
}
