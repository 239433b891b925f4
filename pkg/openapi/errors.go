package openapi

// The errors that every operation may answer are no messages of the contract: they carry the form of the HTTP answer
// (rule 12). They are described here, once.

// standard gives the component of a schema that no descriptor describes.
func (g *generator) standard(name string, describe func() *schema) *schema {
	component, fresh := g.components.declare(componentKey{name: name, descriptor: "openapi.Standard"})
	if fresh {
		component.schema = describe()
	}
	return &schema{Ref: reference{component}}
}

// invalid describes the answer to a request that does not fit the schema.
func (g *generator) invalid() *response {
	body := g.standard("HTTPValidationError", func() *schema {
		return object("The request is not valid. Faults of the schema are listed in exception_detail; a rule that no schema can say is told in detail alone.",
			named("exception_message", &schema{Type: "string"}),
			named("exception_detail", &schema{Type: "array", Items: g.standard("ValidationError", validationError)}),
			named("request_body", &schema{Nullable: true, Description: "The body as it was sent, as text if it was no JSON; null without a body, or with a long one."}),
			named("detail", &schema{Type: "string"}),
		)
	})
	return &response{Description: "The request is not valid", Content: map[string]mediaType{jsonType: {Schema: body}}}
}

func validationError() *schema {
	place := &schema{AnyOf: []*schema{{Type: "string"}, {Type: "integer"}}}
	out := object("ValidationError is one fault of a request.",
		named("loc", &schema{Type: "array", Items: place, Description: `The way to the fault: "body", "query", "path" or "header", then keys and indices.`}),
		named("msg", &schema{Type: "string", Description: "What is wrong, for a person."}),
		named("type", &schema{Type: "string", Description: "The kind of fault."}),
		named("input", &schema{Nullable: true, Description: "What was sent there; absent if it is not repeated."}),
	)
	out.Required = []string{"loc", "msg", "type"}
	return out
}

// failure describes every other answer that is not a success.
func (g *generator) failure() *response {
	body := g.standard("Error", func() *schema {
		return object("Error says what went wrong, under one of two keys.",
			named("detail", &schema{Type: "string"}),
			named("exception_message", &schema{Type: "string"}),
		)
	})
	return &response{
		Description: "No success: 400 a bad version header, 401 not authenticated, 403 not allowed, 404 not found, 409 a conflict, 410 gone, " +
			"413 too large, 415 not readable, 423 locked, 429 too many requests, 500 an error of the server, 503 try again later",
		Content: map[string]mediaType{jsonType: {Schema: body}},
	}
}

type namedSchema struct {
	name   string
	schema *schema
}

func named(name string, s *schema) namedSchema { return namedSchema{name, s} }

func object(description string, members ...namedSchema) *schema {
	out := &schema{Type: "object", Description: description, Properties: newOrdered[*schema]()}
	for _, m := range members {
		out.Properties.set(m.name, m.schema)
	}
	return out
}
