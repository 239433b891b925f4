package openapi

// Errors that every operation may return are not messages of the contract; they follow the HTTP error forms (rule 12).

// standard returns the component of a schema without a descriptor.
func (g *generator) standard(name string, describe func() *schema) *schema {
	component, fresh := g.components.declare(componentKey{name: name, descriptor: "openapi.Standard"})
	if fresh {
		component.schema = describe()
	}
	return &schema{Ref: reference{component}}
}

// invalid describes the response to a request that violates the schema.
func (g *generator) invalid() *response {
	body := g.standard("HTTPValidationError", func() *schema {
		return object("HTTPValidationError reports an invalid request: schema errors in exception_detail, violations of other rules in detail.",
			named("exception_message", &schema{Type: "string", Description: "Constant text for schema errors."}),
			named("exception_detail", &schema{Type: "array", Description: "Schema errors in the order found.", Items: g.standard("ValidationError", validationError)}),
			named("request_body", &schema{Nullable: true, Description: "Rejected body, as text unless it is JSON; null for an absent or long body."}),
			named("detail", &schema{Type: "string", Description: "Violated rule, for rules beyond the schema."}),
		)
	})
	return &response{Description: "Invalid request", Content: map[string]mediaType{jsonType: {Schema: body}}}
}

func validationError() *schema {
	segment := &schema{AnyOf: []*schema{{Type: "string"}, {Type: "integer"}}}
	out := object("ValidationError is one schema error of a request.",
		named("loc", &schema{Type: "array", Items: segment, Description: `Location of the error: "body", "query", "path" or "header", then keys and indices.`}),
		named("msg", &schema{Type: "string", Description: "Error text for a person."}),
		named("type", &schema{Type: "string", Description: "Kind of error, such as missing."}),
		named("input", &schema{Nullable: true, Description: "Rejected value; absent for secret or long values."}),
		named("ctx", &schema{Type: "object", Additional: true, Description: "Parameters of the violated rule, such as max_length; absent for none."}),
	)
	out.Required = []string{"loc", "msg", "type"}
	return out
}

// failure describes every other error response.
func (g *generator) failure() *response {
	body := g.standard("Error", func() *schema {
		return object("Error explains a failure under one of two keys.",
			named("detail", &schema{Type: "string", Description: "Reason of the failure."}),
			named("exception_message", &schema{Type: "string", Description: "Reason of the failure, in the form of unknown objects."}),
		)
	})
	return &response{
		Description: "Failure: 400 bad version header, 401 not authenticated, 403 forbidden, 404 not found, 409 conflict, 410 gone, " +
			"413 too large, 415 unsupported media type, 423 locked, 429 too many requests, 500 server error, 503 retry later",
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
