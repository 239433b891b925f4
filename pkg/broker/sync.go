package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Verification of the settings.
//
// sync_interval is a setting of the server, not of the stream, and JetStream's API does not expose it. Each server
// reports it to the system account, on $SYS.REQ.SERVER.PING.JSZ (config.sync_always). So the system account must export
// that service to the account of Orch; one request over the ordinary connection then reaches every server of a cluster:
//
//	accounts {
//	  SYS  { exports: [ { service: "$SYS.REQ.SERVER.PING.JSZ", response_type: stream } ] }
//	  ORCH { jetstream: enabled
//	         users:   [ … ]
//	         imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } } ] }
//	}
//	system_account: SYS
//
// pkg/embeddednats does the same. Without this export the setting is unknown: Connect returns ErrSyncUnknown unless
// Config.AllowLazySync accepts the risk.
const subjectJetStreamInfo = "$SYS.REQ.SERVER.PING.JSZ"

const (
	// firstServerWait bounds the wait for the first response; nextServerWait for each further server of a cluster.
	firstServerWait = 2 * time.Second
	nextServerWait  = 250 * time.Millisecond
)

// serverSync is the response of one server.
type serverSync struct {
	Server struct {
		Name string `json:"name"`
	} `json:"server"`
	Data *struct {
		Disabled bool `json:"disabled"`
		Config   struct {
			SyncAlways bool `json:"sync_always"`
		} `json:"config"`
	} `json:"data"`
}

// assertSync checks that every server flushes to disk before it acknowledges.
func (c *Conn) assertSync(ctx context.Context) error {
	err := c.verifySync(ctx)
	if err != nil && ctx.Err() == nil && c.cfg.AllowLazySync {
		c.log.WarnContext(ctx, "a power failure may lose acknowledged events", "reason", err)
		return nil
	}
	return err
}

func (c *Conn) verifySync(ctx context.Context) error {
	answers, err := c.askServers(ctx)
	if err != nil {
		return err
	}
	storing := 0
	for _, a := range answers {
		switch {
		case a.Data == nil:
			return fmt.Errorf("%w: server %q responded without data", ErrSyncUnknown, a.Server.Name)
		case a.Data.Disabled: // A server of the cluster without storage.
		case !a.Data.Config.SyncAlways:
			return fmt.Errorf("%w: set sync_interval: always on server %q", ErrLazySync, a.Server.Name)
		default:
			storing++
		}
	}
	if storing == 0 {
		return fmt.Errorf("%w: JetStream is not enabled", ErrSyncUnknown)
	}
	return nil
}

// askServers collects the responses of all servers. A server that is down is checked by the next service that starts.
func (c *Conn) askServers(ctx context.Context) ([]serverSync, error) {
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyncUnknown, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest(subjectJetStreamInfo, inbox, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyncUnknown, err)
	}
	var answers []serverSync
	for wait := firstServerWait; ; wait = nextServerWait {
		msg, err := nextWithin(ctx, sub, wait)
		switch {
		case err == nil && len(answers) == 0 && isNoResponders(msg):
			return nil, fmt.Errorf("%w: %s is not imported by this account", ErrSyncUnknown, subjectJetStreamInfo)
		case err == nil:
			var a serverSync
			if err := json.Unmarshal(msg.Data, &a); err != nil {
				return nil, fmt.Errorf("%w: decode response: %w", ErrSyncUnknown, err)
			}
			answers = append(answers, a)
			if c.nc.ConnectedClusterName() == "" {
				return answers, nil // A single server: there is no other response.
			}
		case ctx.Err() != nil:
			return nil, fmt.Errorf("request sync_interval: %w", ctx.Err())
		case len(answers) > 0:
			return answers, nil
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return nil, fmt.Errorf("%w: no server responds on %s", ErrSyncUnknown, subjectJetStreamInfo)
		default:
			return nil, fmt.Errorf("%w: %w", ErrSyncUnknown, err)
		}
	}
}

func nextWithin(ctx context.Context, sub *nats.Subscription, d time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return sub.NextMsgWithContext(ctx)
}

func isNoResponders(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
}
