package gateway

import (
	"context"
	"fmt"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/web"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// openSite builds the dashboard. Its sessions are in a bucket of the broker, or in memory without one.
func (g *Gateway) openSite() error {
	options := session.Options{Log: g.log}
	if g.deps.Broker != nil && g.mode != authn.None {
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		bucket, err := g.deps.Broker.KeyValue(ctx, session.Bucket, broker.KVConfig{Description: "signed-in browsers of the dashboard"})
		if err != nil {
			return fmt.Errorf("open the sessions: %w", err)
		}
		options.Bucket = bucket
	}
	g.sessions = session.NewStore(options)
	var sockets web.Sockets
	if g.sockets != nil {
		sockets = g.sockets
	}
	var err error
	g.site, err = web.New(web.Options{
		API:        g.api,
		Authorizer: g.authorizer,
		Server:     g,
		Sockets:    sockets,
		Sessions:   g.sessions,
		Vocabulary: g.cfg.Vocabulary,
		Refused:    g.denied,
		Version:    g.deps.Version,
		Credential: string(g.cfg.Credential()),
		Log:        g.log,
	})
	if err != nil {
		return fmt.Errorf("build the site: %w", err)
	}
	return nil
}
