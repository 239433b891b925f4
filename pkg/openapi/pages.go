package openapi

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// pageHeaders describes the response headers of an operation with a page token, or with the number of all matches; nil for others.
func pageHeaders(md protoreflect.MethodDescriptor) map[string]header {
	headers := map[string]header{}
	if counted(md.Output()) {
		headers[request.CountCappedHeader] = header{
			Description: "The number of matches in the body, if that many or more match: counting stopped there.",
			Schema:      &schema{Type: "integer"},
		}
	}
	fd := pageToken(md.Input())
	if fd == nil {
		return headers
	}
	headers[request.NextPageTokenHeader] = header{
		Description: "Token of the next page, if this page is full; without it the list has ended.",
		Schema:      &schema{Type: "string"},
	}
	if restjson.Options(fd).GetIn() == orchv1.In_IN_QUERY {
		headers["Link"] = header{Description: "Address of the next page with the relation next (RFC 8288), if this page is full.", Schema: &schema{Type: "string"}}
	}
	return headers
}

// counted reports whether a page has the number of all matches, beside the number of pages or the address of the next one.
func counted(md protoreflect.MessageDescriptor) bool {
	has := func(name protoreflect.Name) bool { return md.Fields().ByName(name) != nil }
	return has("count") && has("pages") || has("total") && has("next_page")
}

// pageToken returns the field with the page token of a request, or of the query in it; nil without one. Pages of events have a
// parameter of another name, and the address of the next page in the body.
func pageToken(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	var inner protoreflect.FieldDescriptor
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		switch {
		case restjson.Name(fd) == request.PageTokenField:
			return fd
		case inner == nil && string(fd.Name()) == "query" && fd.Message() != nil:
			inner = pageToken(fd.Message())
		}
	}
	return inner
}
