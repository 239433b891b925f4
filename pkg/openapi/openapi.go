package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Version is the version of the OpenAPI specification that documents are written in.
const Version = "3.0.3"

// Options hold the parts of a document that descriptors do not.
type Options struct {
	Title   string
	Version string
	// Description is Markdown; it may be empty.
	Description string
	// Header is the name of the request header that carries the API version, in the server's vocabulary. Empty leaves
	// the header out.
	Header string
	// Servers are the base addresses, absolute or relative to the document, such as "/api".
	Servers []string
	// Example returns an example request body of an operation as JSON, nil for none. It may be nil.
	Example func(operationID string) (json.RawMessage, error)
	// Operations are the ids of the operations to describe; nil describes all.
	Operations []string
	// Brief makes generated clients small: the bodies of requests have the names of their messages, operations have their summaries
	// alone, "default" stands for every error, and the headers of pages are left out.
	Brief bool
}

// Document describes the services, in the order given, as indented JSON. It omits methods without an HTTP
// binding and hidden ones. It returns an error for an invalid option or binding, and for two messages or methods of
// one name.
func Document(opts Options, services ...protoreflect.ServiceDescriptor) ([]byte, error) {
	g := &generator{opts: opts, components: newComponents(), operations: map[string]protoreflect.FullName{}}
	doc := document{
		OpenAPI:  Version,
		Info:     info{Title: opts.Title, Version: opts.Version, Description: opts.Description},
		Security: alternatives(),
		Paths:    newOrdered[*ordered[*operation]](),
	}
	for _, url := range opts.Servers {
		doc.Servers = append(doc.Servers, server{URL: url})
	}
	for _, sd := range services {
		if err := g.service(&doc, sd); err != nil {
			return nil, fmt.Errorf("describe %s: %w", sd.FullName(), err)
		}
	}
	for _, id := range opts.Operations {
		if _, ok := g.operations[id]; !ok {
			return nil, fmt.Errorf("describe operations: no service has the operation %q", id)
		}
	}
	schemas, err := g.components.finish()
	if err != nil {
		return nil, err
	}
	doc.Components = componentObjects{Schemas: schemas, SecuritySchemes: securitySchemes()}

	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	return out.Bytes(), nil
}

// generator holds the state of one document's generation.
type generator struct {
	opts       Options
	components *components
	operations map[string]protoreflect.FullName // method by operation id
}
