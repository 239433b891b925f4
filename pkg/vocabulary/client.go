package vocabulary

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// userAgent is the whole User-Agent of Prefect's clients. A value that only resembles it is another client's.
var userAgent = regexp.MustCompile(`^(prefect/[0-9]+\.[0-9]+\.[0-9]+[a-z0-9.+]*) \(API \S+\)$`)

// PrefectAgent returns the name and version of Prefect's client by its User-Agent, such as "prefect/3.6.1"; ok is false for
// every other client.
func PrefectAgent(agent string) (client string, ok bool) {
	match := userAgent.FindStringSubmatch(agent)
	if match == nil {
		return "", false
	}
	return match[1], true
}

// csrfHeader is a header of Prefect's clients that use CSRF tokens.
const csrfHeader = "Prefect-Csrf-Client"

// OfClient returns the vocabulary that the client of a request expects. Prefect's clients show themselves by User-Agent,
// their own headers or websocket subprotocol. Every other client expects Orch.
func OfClient(header http.Header) Vocabulary {
	_, agent := PrefectAgent(header.Get("User-Agent"))
	if agent || header.Get(Prefect.VersionHeader()) != "" || header.Get(csrfHeader) != "" {
		return Prefect
	}
	if offered := OfferedSubprotocols(header); slices.Contains(offered, Prefect.String()) && !slices.Contains(offered, Orch.String()) {
		return Prefect
	}
	return Orch
}

// Anonymous reports whether a request with this User-Agent may be of Prefect's client nevertheless. A proxy may strip the
// User-Agent. Before it opens a websocket, the client asks for the server's version by its HTTP library alone.
func Anonymous(agent string) bool {
	return agent == "" || strings.HasPrefix(agent, "python-httpx/")
}

// OfferedSubprotocols returns those of Subprotocols that a client offers.
func OfferedSubprotocols(header http.Header) []string {
	var offered []string
	for _, line := range header.Values("Sec-WebSocket-Protocol") {
		for offer := range strings.SplitSeq(line, ",") {
			offer = strings.ToLower(strings.TrimSpace(offer))
			if slices.Contains(Subprotocols(), offer) {
				offered = append(offered, offer)
			}
		}
	}
	return offered
}

// ForeignAgent reports whether a client with this User-Agent expects the other vocabulary, so that half of its data would be
// lost. Headers and subprotocols alone prove nothing.
func (v Vocabulary) ForeignAgent(agent string) bool {
	_, foreign := PrefectAgent(agent)
	return foreign && v == Orch
}

// ForeignMarks reports whether the headers or subprotocols of a request are those of clients that expect the other vocabulary.
// Programs that work with both vocabularies may have them too.
func (v Vocabulary) ForeignMarks(header http.Header) bool {
	return v == Orch && OfClient(header) == Prefect
}

// Remedy is the command that gives the server the other vocabulary.
func (v Vocabulary) Remedy() string { return "orch vocabulary convert --to " + v.Other().String() }

// Refusal is the sentence for a client of the other vocabulary, such as "prefect/3.6.1".
func (v Vocabulary) Refusal(client string) string {
	return fmt.Sprintf("This server has the vocabulary %s and %s expects %s: stop the server and run `%s`, or start it on fresh data with `orch server --vocabulary %s`.",
		v, client, v.Other(), v.Remedy(), v.Other())
}

// ShortRefusal is Refusal within the 123 bytes of a websocket's close reason.
func (v Vocabulary) ShortRefusal() string {
	return fmt.Sprintf("The server's vocabulary is %s, the client's %s: stop the server and run %s", v, v.Other(), v.Remedy())
}
