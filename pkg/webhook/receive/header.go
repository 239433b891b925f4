package receive

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// fields collects the header fields of a request in order of their names. Names are in lower case, as HTTP/2 sends
// them; lines of one name are joined with ", " in their order. Fields that the HTTP library takes out of the header are put back;
// Authorization is left out, because templates must never see it.
func fields(r *http.Request) []Field {
	all := make([]Field, 0, len(r.Header)+2)
	add := func(name string, values []string) {
		name = strings.ToLower(name)
		if name == "authorization" || len(values) == 0 {
			return
		}
		value := values[0]
		if len(values) > 1 {
			value = strings.Join(values, ", ")
		}
		all = append(all, Field{name, text(value)})
	}
	for name, values := range r.Header {
		add(name, values)
	}
	if r.Host != "" && r.Header.Get("Host") == "" {
		add("host", []string{r.Host})
	}
	if r.Header.Get("Transfer-Encoding") == "" {
		add("transfer-encoding", r.TransferEncoding)
	}
	Sort(all)
	return all
}

// Sort puts fields in the order that a Request has them in.
func Sort(all []Field) {
	slices.SortFunc(all, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
}

// text is a header value as a string. Bytes that are no UTF-8 are ISO 8859-1, as HTTP had it from its beginning.
func text(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	runes := make([]rune, len(value))
	for i := range len(value) {
		runes[i] = rune(value[i])
	}
	return string(runes)
}
