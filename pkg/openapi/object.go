package openapi

import "encoding/json"

// The objects of OpenAPI 3.0.3, as far as documents use them. Members are written in the order declared.

type document struct {
	OpenAPI    string                         `json:"openapi"`
	Info       info                           `json:"info"`
	Servers    []server                       `json:"servers,omitempty"`
	Security   []securityRequirement          `json:"security"`
	Tags       []tag                          `json:"tags"`
	Paths      *ordered[*ordered[*operation]] `json:"paths"`
	Components componentObjects               `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version"`
}

type server struct {
	URL string `json:"url"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type componentObjects struct {
	Schemas         *ordered[*schema]         `json:"schemas"`
	SecuritySchemes map[string]securityScheme `json:"securitySchemes"`
}

type securityScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme"`
	Description string `json:"description"`
}

// securityRequirement maps a scheme's name to the scopes it must have; basic and bearer know none.
type securityRequirement map[string][]string

type operation struct {
	Tags        []string            `json:"tags,omitempty"`
	Summary     string              `json:"summary,omitempty"`
	Description string              `json:"description,omitempty"`
	OperationID string              `json:"operationId"`
	Parameters  []parameter         `json:"parameters,omitempty"`
	RequestBody *requestBody        `json:"requestBody,omitempty"`
	Responses   *ordered[*response] `json:"responses"`
	Deprecated  bool                `json:"deprecated,omitempty"`
	// Security is nil where the document's holds, and empty where none is needed.
	Security *[]securityRequirement `json:"security,omitempty"`
	Scope    string                 `json:"x-scope,omitempty"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Deprecated  bool    `json:"deprecated,omitempty"`
	Schema      *schema `json:"schema"`
}

type requestBody struct {
	Required bool                 `json:"required,omitempty"`
	Content  map[string]mediaType `json:"content"`
}

type response struct {
	Description string               `json:"description"`
	Headers     map[string]header    `json:"headers,omitempty"`
	Content     map[string]mediaType `json:"content,omitempty"`
}

type header struct {
	Description string  `json:"description"`
	Schema      *schema `json:"schema"`
}

type mediaType struct {
	Schema  *schema         `json:"schema"`
	Example json.RawMessage `json:"example,omitempty"`
}

type schema struct {
	Ref              reference         `json:"$ref,omitzero"`
	Title            string            `json:"title,omitempty"`
	Description      string            `json:"description,omitempty"`
	Type             string            `json:"type,omitempty"`
	Format           string            `json:"format,omitempty"`
	Nullable         bool              `json:"nullable,omitempty"`
	ReadOnly         bool              `json:"readOnly,omitempty"`
	Deprecated       bool              `json:"deprecated,omitempty"`
	Default          json.RawMessage   `json:"default,omitempty"`
	Enum             []string          `json:"enum,omitempty"`
	Pattern          string            `json:"pattern,omitempty"`
	MinLength        uint32            `json:"minLength,omitempty"`
	MaxLength        uint32            `json:"maxLength,omitempty"`
	Minimum          *float64          `json:"minimum,omitempty"`
	ExclusiveMinimum bool              `json:"exclusiveMinimum,omitempty"`
	Maximum          *float64          `json:"maximum,omitempty"`
	MinItems         uint32            `json:"minItems,omitempty"`
	MaxItems         uint32            `json:"maxItems,omitempty"`
	UniqueItems      bool              `json:"uniqueItems,omitempty"`
	MaxProperties    uint32            `json:"maxProperties,omitempty"`
	MaxBytes         uint32            `json:"x-max-bytes,omitempty"`      // of the compact JSON text
	MaxKeyLength     uint32            `json:"x-max-key-length,omitempty"` // in characters
	Items            *schema           `json:"items,omitempty"`
	AllOf            []*schema         `json:"allOf,omitempty"`
	OneOf            []*schema         `json:"oneOf,omitempty"`
	AnyOf            []*schema         `json:"anyOf,omitempty"`
	Discriminator    *discriminator    `json:"discriminator,omitempty"`
	Required         []string          `json:"required,omitempty"`
	Properties       *ordered[*schema] `json:"properties,omitempty"`
	Additional       any               `json:"additionalProperties,omitempty"` // bool or *schema
}

type discriminator struct {
	PropertyName string              `json:"propertyName"`
	Mapping      *ordered[reference] `json:"mapping,omitempty"`
}

// reference points at a component, whose name is settled last.
type reference struct{ to *component }

func (r reference) MarshalJSON() ([]byte, error) {
	return json.Marshal("#/components/schemas/" + r.to.published)
}
