package restjson

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ErrUnsupported is wrapped when a message cannot be mapped by the rules: the proto file is wrong, not the data.
var ErrUnsupported = errors.New("restjson: unsupported message")

// maxFields is the maximum number of fields of a message, so a bit set of the keys seen needs no allocation.
const maxFields = 512

// shape is the form of a message in JSON.
type shape uint8

const (
	shapeObject shape = iota
	shapeInline
	shapeTuple
	shapeTagged // a union chosen by a discriminator
	shapeTyped  // a union chosen by a key or by the JSON type
	shapeEmpty  // google.protobuf.Empty: null
	shapeRaw    // google.api.HttpBody: the bytes themselves
)

// plan holds what encoder and decoder need to know about a message.
type plan struct {
	desc          protoreflect.MessageDescriptor
	shape         shape
	strict        bool
	discriminator string
	tagKey, tag   string
	tagJSON       []byte   // `"type":"event"`, empty without a tag
	fields        []*field // those in REST, in the order of declaration (tuple: of numbers)
	byKey         map[string]*field
	byNumber      map[protoreflect.FieldNumber]*field // internal ones included
	variants      map[string]*field                   // by tag
	oneof         protoreflect.OneofDescriptor
	extra         *field
	mask          protoreflect.FieldDescriptor // google.protobuf.FieldMask update_mask
	generated     generatedEncoderFunc
	fast          fastDecoderFunc
	err           error
}

var (
	plans     sync.Map // protoreflect.MessageDescriptor → *plan, complete ones only
	planMutex sync.Mutex
)

func planOf(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	// Messages refer to each other, so plans are built as a set and published when the set is complete.
	planMutex.Lock()
	defer planMutex.Unlock()
	b := builder{}
	p := b.message(md)
	for _, built := range b {
		built.finish()
	}
	for md, built := range b {
		plans.LoadOrStore(md, built)
	}
	return p
}

// builder holds the plans of one set while they are incomplete.
type builder map[protoreflect.MessageDescriptor]*plan

func (b builder) message(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	if p := b[md]; p != nil {
		return p
	}
	opts := Shape(md)
	p := &plan{
		desc:          md,
		strict:        opts.GetStrict(),
		discriminator: opts.GetDiscriminator(),
		tagKey:        opts.GetTagKey(),
		tag:           opts.GetTag(),
		byKey:         map[string]*field{},
		byNumber:      map[protoreflect.FieldNumber]*field{},
		oneof:         Union(md),
		generated:     generatedEncoder(md.FullName()),
		fast:          generatedDecoder(md.FullName()),
	}
	b[md] = p
	if p.tagKey != "" {
		p.tagJSON = append(append(jsontoken.AppendString(nil, p.tagKey), ':'), jsontoken.AppendString(nil, p.tag)...)
	}
	p.setShape(opts)
	if p.shape == shapeRaw || p.shape == shapeEmpty {
		return p
	}
	fds := md.Fields()
	for i := range fds.Len() {
		b.addField(p, fds.Get(i))
	}
	if p.shape == shapeTuple {
		slices.SortFunc(p.fields, func(a, c *field) int { return int(a.desc.Number() - c.desc.Number()) })
	}
	for i, f := range p.fields {
		f.index = i
	}
	return p
}

func (p *plan) setShape(opts *orchv1.RestShape) {
	switch {
	case p.desc.FullName() == "google.protobuf.Empty":
		p.shape = shapeEmpty
	case p.desc.FullName() == "google.api.HttpBody":
		p.shape = shapeRaw
	case opts.GetInline():
		p.shape = shapeInline
	case opts.GetTuple():
		p.shape = shapeTuple
	case opts.GetDiscriminator() != "":
		p.shape = shapeTagged
	case p.oneof != nil:
		p.shape = shapeTyped
	}
}

func (b builder) addField(p *plan, fd protoreflect.FieldDescriptor) {
	if fd.Message() != nil && fd.Message().FullName() == "google.protobuf.FieldMask" {
		if fd.Name() == "update_mask" {
			p.mask = fd
		}
		return // a mask lists the keys present; it is not a key itself
	}
	f := b.field(p, fd)
	p.byNumber[fd.Number()] = f
	switch {
	case f.opts.GetInternal():
	case f.opts.GetExtra():
		p.extra = f
	default:
		if p.byKey[f.name] != nil {
			p.fail("the key %q is used twice", f.name)
		}
		p.fields = append(p.fields, f)
		p.byKey[f.name] = f
	}
}

func (p *plan) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s: %s", ErrUnsupported, p.desc.FullName(), fmt.Sprintf(format, args...))
	}
}

// finish checks what needs the complete plans of members.
func (p *plan) finish() {
	if len(p.fields) > maxFields {
		p.fail("more than %d fields", maxFields)
	}
	if p.oneof == nil {
		for i := range p.desc.Oneofs().Len() {
			if !p.desc.Oneofs().Get(i).IsSynthetic() && p.shape != shapeRaw {
				p.fail("a oneof beside other fields")
			}
		}
	}
	switch p.shape {
	case shapeInline:
		if len(p.fields) != 1 {
			p.fail("an inline message has one field, not %d", len(p.fields))
		}
	case shapeTagged:
		p.variants = map[string]*field{}
		for _, f := range p.fields {
			if f.kind != KindMessage || f.sub.tagKey != p.discriminator {
				p.fail("the variant %s has no tag %q", f.name, p.discriminator)
				continue
			}
			if p.variants[f.sub.tag] != nil {
				p.fail("the tag %q is used twice", f.sub.tag)
			}
			p.variants[f.sub.tag] = f
		}
	}
	if p.extra != nil && (!p.extra.isMap || p.extra.kind != KindJSON && p.extra.kind != KindObject) {
		p.fail("extra keys need a map<string, bytes>")
	}
	for _, f := range p.fields {
		f.finish(p)
	}
}

// compile compiles a pattern.
func compile(p *plan, pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		p.fail("pattern: %v", err)
	}
	return re
}
