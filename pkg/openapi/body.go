package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	jsonType = "application/json"
	// anyType is the media type of raw bodies of any type.
	anyType = "*/*"
)

// requestBody describes the field that the binding names, with the operation's example; nil without a field.
func (g *generator) requestBody(md protoreflect.MethodDescriptor, name, operationID string) (*requestBody, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // No body is not an error.
	}
	media, content, err := g.body(md.Input(), name, input)
	if err != nil {
		return nil, err
	}
	var example json.RawMessage
	if g.opts.Example != nil {
		if example, err = g.opts.Example(operationID); err != nil {
			return nil, err
		}
	}
	return &requestBody{
		Required: !methodOptions(md).GetOptionalBody(),
		Content:  map[string]mediaType{media: {Schema: content, Example: example}},
	}, nil
}

// responses describes the statuses of success, 422 for operations with input, and the common form of other errors.
func (g *generator) responses(md protoreflect.MethodDescriptor, name string, takesInput bool) (*ordered[*response], error) {
	o := methodOptions(md)
	main := int(o.GetStatus())
	if main == 0 {
		main = http.StatusOK
	}
	out := newOrdered[*response]()
	statuses := append([]int{main}, ints(o.GetAltStatus())...)
	for _, status := range statuses {
		if http.StatusText(status) == "" || status < 200 || status > 299 {
			return nil, fmt.Errorf("%d is not a status of success", status)
		}
		one, err := g.success(md, name, status)
		if err != nil {
			return nil, err
		}
		if !g.opts.Brief {
			one.Headers = pageHeaders(md)
		}
		out.set(strconv.Itoa(status), one)
	}
	if takesInput && !g.opts.Brief {
		out.set(strconv.Itoa(http.StatusUnprocessableEntity), g.invalid())
	}
	out.set("default", g.failure())
	return out, nil
}

func (g *generator) success(md protoreflect.MethodDescriptor, name string, status int) (*response, error) {
	if status == http.StatusNoContent {
		return &response{Description: "Success without a body"}, nil
	}
	if md.Output().FullName() == emptyName {
		// OpenAPI 3.0 lacks a null type.
		return &response{Description: "Success; the body is null", Content: map[string]mediaType{jsonType: {Schema: anything()}}}, nil
	}
	media, content, err := g.body(md.Output(), name, output)
	if err != nil {
		return nil, err
	}
	if declared := methodOptions(md).GetMedia(); declared != "" {
		media, content = declared, &schema{Type: "string"} // Generators read no other form of text.
	}
	return &response{Description: http.StatusText(status), Content: map[string]mediaType{media: {Schema: content}}}, nil
}

// body describes a message, or the field of it that is the body.
func (g *generator) body(md protoreflect.MessageDescriptor, name string, dir direction) (media string, content *schema, err error) {
	message := md
	if name == "" || name == "*" {
		content, err = g.message(md, "", dir)
	} else {
		fd := md.Fields().ByName(protoreflect.Name(name))
		if fd == nil {
			return "", nil, fmt.Errorf("%s has no field %q for the body", md.FullName(), name)
		}
		message = fd.Message()
		content, err = g.field(fd, dir)
	}
	if err != nil {
		return "", nil, err
	}
	if message != nil && message.FullName() == httpBodyName {
		return anyType, content, nil
	}
	return jsonType, content, nil
}

func ints(list []int32) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

func deprecated(md protoreflect.MethodDescriptor) bool {
	o, _ := md.Options().(*descriptorpb.MethodOptions)
	return o.GetDeprecated()
}
