package refusals

import (
	"cmp"
	"net/http"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Refuse returns the response to an admitted client that expects another vocabulary, nil for every other client. Half of such a
// client's data would be lost: its events have other names. Sentence returns the message for a client with a name and version.
func (l *Log) Refuse(r *http.Request, info request.Info, sentence func(client string) string) error {
	refusal, foreign := l.foreign(r, info)
	if !foreign {
		return nil
	}
	l.Add(r.Context(), info.Workspace, refusal)
	return rpc.Detail(http.StatusBadRequest, sentence(cmp.Or(refusal.Client, "this client")))
}

// foreign returns the refusal of a client that expects another vocabulary. Its User-Agent proves that; headers and
// subprotocols prove it together with events that the server has lately refused, because a proxy may strip the User-Agent.
func (l *Log) foreign(r *http.Request, info request.Info) (Refusal, bool) {
	refusal := Refusal{Client: info.UserAgent, Address: Address(info)}
	if l.opts.Vocabulary.ForeignAgent(info.UserAgent) {
		refusal.Client, _ = vocabulary.PrefectAgent(info.UserAgent)
		return refusal, true
	}
	if !l.opts.Vocabulary.ForeignMarks(r.Header) {
		return refusal, false
	}
	refusal.Events = true
	return refusal, l.RefusedEvents(info.Workspace, refusal.Client, refusal.Address)
}

// Address returns the address of a request's client, empty if unknown.
func Address(info request.Info) string {
	if !info.Peer.IsValid() {
		return ""
	}
	return info.Peer.String()
}
