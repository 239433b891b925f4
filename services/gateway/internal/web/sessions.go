package web

import (
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// sessionsOf returns the sessions of the owner of a request's session, the latest first. Several keys of a user have one owner.
func (s *Site) sessionsOf(r *http.Request) []page.Session {
	current, ok := session.From(r.Context())
	if !ok {
		return nil // A program with a key in a header has no session.
	}
	owner := s.opts.Authorizer.Owner(current.Digest)
	var all []page.Session
	for _, found := range s.opts.Sessions.List() {
		if owner != "" && s.opts.Authorizer.Owner(found.Digest) == owner {
			all = append(all, page.Session{
				ID: found.ID, Agent: found.Agent, Address: found.Address, Opened: found.Opened, Used: found.Used, Current: found.ID == current.ID,
			})
		}
	}
	return all
}

// endSession ends a session of the reader. Sessions of others are not found.
func (s *Site) endSession(r *http.Request, id string) error {
	for _, own := range s.sessionsOf(r) {
		if own.ID != id {
			continue
		}
		if err := s.opts.Sessions.Close(r.Context(), id); err != nil {
			s.opts.Log.WarnContext(r.Context(), "failed to close a session", "error", err)
			return rpc.Detail(http.StatusServiceUnavailable, "The session cannot be ended now. Try again in a moment.")
		}
		return nil
	}
	return &page.NotFound{What: "session"}
}
