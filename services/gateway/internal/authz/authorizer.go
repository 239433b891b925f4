package authz

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/refusals"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// Options are the dependencies of an Authorizer.
type Options struct {
	Mode      authn.Mode
	Guard     *authn.Guard
	Directory *directory.Directory // Nil without a broker.
	Addresses *address.Resolver
	// Broker publishes the audit events of refused addresses; nil publishes none.
	Broker     *broker.Conn
	Vocabulary vocabulary.Vocabulary
	// Refused records the clients that expect another vocabulary.
	Refused *refusals.Log
	Log     *slog.Logger
}

// Authorizer authorizes requests. It is safe for concurrent use.
type Authorizer struct {
	opts    Options
	denials perAccountThrottle
}

// New returns an authorizer.
func New(opts Options) *Authorizer { return &Authorizer{opts: opts} }

// Scope returns what is known of a request for a path. The writer may be nil.
func (a *Authorizer) Scope(w http.ResponseWriter, r *http.Request, path address.WorkspacePath) transcode.RequestScope {
	return transcode.RequestScope{Info: a.info(w, r, path.Prefix), Path: path}
}

// info is the request metadata for the services.
func (a *Authorizer) info(w http.ResponseWriter, r *http.Request, prefix string) request.Info {
	apiVersion, _ := vocabulary.ClientAPIVersion(r.Header)
	info := request.Info{
		Account:    request.DefaultAccount,
		Workspace:  request.DefaultWorkspace,
		PublicURL:  printable(a.opts.Addresses.Root(r) + prefix),
		HooksURL:   printable(a.opts.Addresses.Hooks(r)),
		UserAgent:  printable(r.UserAgent()),
		Peer:       a.opts.Addresses.Client(r),
		Connection: r.RemoteAddr,
		APIVersion: printable(apiVersion),
		Expects:    vocabulary.OfClient(r.Header),
		ID:         requestlog.RequestID(w),
		Caller:     request.Caller{Unauthenticated: a.opts.Mode != authn.ByKey},
	}
	if id, name, ok := vocabulary.Automation(r.Header); ok {
		info.Automation = request.Automation{ID: id, Name: name}
	}
	return info
}

// printable removes what gRPC metadata cannot carry and truncates excessive lengths.
func printable(text string) string {
	const longest = 1024
	clean := true
	for i := range len(text) {
		clean = clean && text[i] >= 0x20 && text[i] < 0x7f
	}
	if !clean {
		text = strings.Map(func(c rune) rune {
			if c < 0x20 || c >= 0x7f {
				return '?'
			}
			return c
		}, text)
	}
	return text[:min(len(text), longest)]
}
