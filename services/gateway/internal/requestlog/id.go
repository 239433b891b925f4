package requestlog

// headerID carries a request's id in both directions.
const headerID = "X-Request-Id"

// maxID is the maximum length of an id that a client may choose.
const maxID = 128

// validRequestID reports whether a client's id is safe in logs and headers.
func validRequestID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c == '-' || c == '_' || c == '.' || c == ':' || c == '/' || c == '=' || c == '+':
		default:
			return false
		}
	}
	return true
}
