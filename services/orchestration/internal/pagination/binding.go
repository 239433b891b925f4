package pagination

import (
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
)

// digestSize is the length of a digest in bytes.
const digestSize = 8

type digest [digestSize]byte

// binding is what a page token belongs to, as digests: another list does not accept it.
type binding struct {
	operation digest // The operation and the workspace.
	filter    digest
	sort      digest
}

// paging are the fields of a query that may differ between the pages of one list.
var paging = map[protoreflect.Name]bool{"limit": true, "offset": true, "page": true, request.PageTokenField: true, "sort": true}

// bind returns the binding of a list: its owner, the query message of its operation, the messages with its filters and its sort.
func bind(owner uuid.UUID, page proto.Message, filters []proto.Message, sort bson.D) (binding, error) {
	var b binding
	name := page.ProtoReflect().Descriptor().FullName()
	b.operation = sum(append(owner[:], name...))
	var text []byte
	for _, m := range filters {
		if m == nil || !m.ProtoReflect().IsValid() {
			continue
		}
		var err error
		text = append(append(text, m.ProtoReflect().Descriptor().FullName()...), 0)
		if text, err = (proto.MarshalOptions{Deterministic: true}).MarshalAppend(text, withoutPaging(m.ProtoReflect())); err != nil {
			return b, fmt.Errorf("digest the filter of a page: %w", err)
		}
	}
	b.filter = sum(text)
	text, err := bson.Marshal(sort)
	if err != nil {
		return b, fmt.Errorf("digest the sort of a page: %w", err)
	}
	b.sort = sum(text)
	return b, nil
}

func sum(text []byte) (d digest) {
	full := sha256.Sum256(text)
	copy(d[:], full[:])
	return d
}

// withoutPaging returns a message without its paging fields, and without those of a query in it. It shares the other fields.
func withoutPaging(m protoreflect.Message) proto.Message {
	out := m.New()
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case paging[fd.Name()]:
		case fd.Message() != nil && fd.Cardinality() != protoreflect.Repeated && fd.Message().Fields().ByName(request.PageTokenField) != nil:
			out.Set(fd, protoreflect.ValueOfMessage(withoutPaging(v.Message()).ProtoReflect()))
		default:
			out.Set(fd, v)
		}
		return true
	})
	return out.Interface()
}
