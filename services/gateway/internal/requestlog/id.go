package requestlog

// headerID carries a request's id, in and out.
const headerID = "X-Request-Id"

// maxID is the length of the longest id that is taken from a client.
const maxID = 128

// sane tells whether a client's id may stand in logs and headers.
func sane(id string) bool {
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
