package openapi

const (
	bearerScheme = "bearer"
	basicScheme  = "basic"
)

// alternatives says that any one scheme will do. A server that runs without authentication ignores them.
func alternatives() []securityRequirement {
	return []securityRequirement{{bearerScheme: {}}, {basicScheme: {}}, {}}
}

func securitySchemes() map[string]securityScheme {
	return map[string]securityScheme{
		bearerScheme: {Type: "http", Scheme: "bearer", Description: "An API key, where the server authenticates by keys."},
		basicScheme:  {Type: "http", Scheme: "basic", Description: "The user and password of the server, where it has one."},
	}
}
