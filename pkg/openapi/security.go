package openapi

const (
	bearerScheme = "bearer"
	basicScheme  = "basic"
)

// alternatives accepts any one scheme, or none for a server without authentication.
func alternatives() []securityRequirement {
	return []securityRequirement{{bearerScheme: {}}, {basicScheme: {}}, {}}
}

func securitySchemes() map[string]securityScheme {
	return map[string]securityScheme{
		bearerScheme: {Type: "http", Scheme: "bearer", Description: "API key, for a server with key authentication."},
		basicScheme:  {Type: "http", Scheme: "basic", Description: "User and password, for a server with basic authentication."},
	}
}
