package stream

import (
	"context"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// reasonNoAuth is the close reason for a client whose first message is not an auth message.
const reasonNoAuth = "Expected 'auth' message"

// accept upgrades a request, performs the handshake and runs the route on the socket. A legacy socket has no handshake: its
// request authenticates it. The error is an HTTP response that is not written yet. A legacy client without credentials gets its socket and
// a close reason, because Prefect's clients print that and not the response.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, template string, to route, legacy bool, counted *admitted, admit Admit) error {
	var info request.Info
	end := closeReason{}
	if legacy {
		var err error
		switch info, err = admit.all("", true, to.scopes); {
		case rpc.HTTPError(err).GetStatus() == http.StatusUnauthorized:
			end = closeReason{websocket.StatusPolicyViolation, status.Convert(err).Message()}
		case err != nil:
			return err
		default:
			if err := counted.authenticate(info.Account); err != nil {
				return err
			}
		}
	}
	k := &socket{admit: admit, legacy: legacy, scopes: to.scopes, log: s.opts.Log.With("route", template)}
	if at := strings.LastIndex(r.URL.Path, "/work_pools/"); at >= 0 {
		k.pool, _ = poolOfPath(strings.TrimSuffix(r.URL.Path[at:], "/"))
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       vocabulary.Subprotocols(),
		InsecureSkipVerify: true, // The guard checked the Origin.
		OnPingReceived: func(ctx context.Context, _ []byte) bool {
			return k.barrier == nil || k.barrier(ctx)
		},
	})
	if err != nil {
		k.log.DebugContext(r.Context(), "refused a websocket", "error", err)
		return nil // Accept wrote the response.
	}
	k.conn = conn
	conn.SetReadLimit(-1) // See readInto.
	// The request's context ends with the handler; some proxies end it earlier.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	if !s.join(k) {
		k.end(shuttingDown)
		return nil
	}
	defer s.leave(k)
	if !legacy {
		info, end = handshake(ctx, k, counted)
	}
	if end.ok() && !s.opts.Vocabulary.Decided() && to.writes() {
		end = decided
	}
	if end.ok() {
		k.info = info
		k.log = k.log.With("request_id", info.ID)
		k.limit = to.limit
		k.memory = s.opts.Admission.Open(info.Account.String(), admission.Workspace(info.Workspace))
		defer k.memory.Close()
		leave := k.staysAdmitted(ctx, s.opts.Readmit)
		end = to.serve(s, request.Outgoing(ctx, info), k)
		leave()
	}
	if end != closedByClient && !end.ok() {
		k.log.InfoContext(ctx, "failed to close a websocket", "code", int(end.code), "reason", end.reason)
	}
	k.end(end)
	k.listening.Wait()
	return nil
}

// handshake authenticates a client by its first message.
func handshake(ctx context.Context, k *socket, counted *admitted) (request.Info, closeReason) {
	k.limit = maxHello
	var first struct {
		Type  string  `json:"type"`
		Token *string `json:"token"`
	}
	if end := k.hello(ctx, authTimeout, &first, websocket.StatusPolicyViolation, reasonNoAuth); !end.ok() {
		return request.Info{}, end
	}
	if first.Type != "auth" {
		return request.Info{}, closeReason{websocket.StatusPolicyViolation, reasonNoAuth}
	}
	if first.Token != nil {
		k.token = *first.Token
	}
	info, err := k.admit.all(k.token, false, k.scopes)
	if err != nil {
		return request.Info{}, closeReason{websocket.StatusPolicyViolation, status.Convert(err).Message()}
	}
	if err := counted.authenticate(info.Account); err != nil {
		return request.Info{}, closeReason{websocket.StatusTryAgainLater, rpc.HTTPError(err).GetDetail()}
	}
	if k.write(ctx, []byte(`{"type":"auth_success"}`)) != nil {
		return request.Info{}, closedByClient
	}
	return info, closeReason{}
}
