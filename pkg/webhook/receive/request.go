package receive

import (
	"net/http"
	"slices"
	"time"
)

// Request is one request to a webhook, as it came.
type Request struct {
	// Method is in upper case.
	Method string
	// Header are the request's header fields, in order of their names; see HeaderPairs.
	Header []Field
	// Query is the query string as it was sent, without the question mark.
	Query string
	// Path is what follows the slug in the address, decoded: empty, or a slash and what comes then. The slug itself is a
	// secret and not part of a Request that anything is made of.
	Path string
	// Raw are the bytes of the body; nil when the method has none. When TooLarge is set they are its beginning alone.
	Raw []byte
	// Wire are the bytes of the body as they were sent. They differ from Raw when the body was compressed; senders sign
	// the ones or the others.
	Wire []byte
	// Length is the length of the body that the header announces, in bytes; -1 when it announces none.
	Length int64
	// TooLarge tells that the body exceeds the limit.
	TooLarge bool
	// Slug is what came behind /hooks/. It is kept only to be removed from whatever is shown to people.
	Slug string
	// Secrets are what the webhook knows its sender by. They are kept for the same: a sender that is set up wrongly puts
	// them where a signature belongs.
	Secrets []string
	// CredentialHeaders are the lower-case names of the headers by which the sender proves itself to this webhook.
	CredentialHeaders []string
	// URI is the path and the query as they were sent, which contain the slug. Some senders sign it.
	URI string
	// Authorization is the header of this name, for the comparison with a token alone: it is not among the fields.
	Authorization string
	// Received is when the request arrived, by the server's clock.
	Received time.Time

	tree, parsed int // See Tree and Parsed.
}

// Field is one header field: a name in lower case, and the values of all its lines.
type Field struct{ Name, Value string }

// Get returns the value of a header field by its lower-case name; empty when it is absent.
func (r *Request) Get(name string) string {
	for _, f := range r.Header {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Hides reports whether templates do not see a header: it proves the sender to this webhook, or somebody to a proxy or to
// the sender's own server.
func (r *Request) Hides(name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie":
		return true
	}
	return slices.Contains(r.CredentialHeaders, name)
}

// New is the request without its body.
func New(r *http.Request, slug, path string, received time.Time) *Request {
	return &Request{
		Method:        r.Method,
		Header:        fields(r),
		Query:         r.URL.RawQuery,
		Path:          path,
		Slug:          slug,
		URI:           r.RequestURI,
		Authorization: r.Header.Get("Authorization"),
		Length:        r.ContentLength,
		Received:      received,
	}
}
