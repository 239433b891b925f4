package stream

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/logs"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// logsOut sends a subscriber the logs that match its filter as they are stored. It sends no past logs; POST
// /logs/filter returns those.
func (s *Server) logsOut(ctx context.Context, k *socket) closeReason {
	filter := &orchv1.LogFilter{}
	if _, end := k.readFilter(ctx, filter); !end.ok() {
		return end
	}
	matcher := logs.NewMatcher(filter)
	q := newSubscriber(k.info.Workspace, false, matcher.Match)
	defer s.logs.leave(q)
	ctx = k.untilGone(ctx)
	if s.logs.join(ctx, q) != nil {
		return brokerAway
	}
	return q.deliver(ctx, k, nil)
}

// feedLogs reads the source of the log feed.
func (s *Server) feedLogs(ctx context.Context, ready func()) error {
	return s.opts.Broker.Live(logs.Feed).Subscribe(ctx, func(workspace uuid.UUID, data []byte) {
		if !s.logs.interested(workspace) {
			return
		}
		all, err := logs.Read(data)
		if err != nil {
			s.opts.Log.WarnContext(ctx, "failed to decode logs of a feed; skipped them", "error", err)
			return
		}
		for _, log := range all {
			text, err := logMessage(log)
			if err != nil {
				s.opts.Log.WarnContext(ctx, "failed to encode a log of a feed; skipped it", "log", log.GetId(), "error", err)
				continue
			}
			s.logs.offer(workspace, log, message{text: text})
		}
	}, broker.OnReady(ready))
}

// logMessage is the message that a subscriber receives for a log.
func logMessage(log *orchv1.Log) ([]byte, error) {
	text, err := restjson.Append([]byte(`{"type":"log","log":`), log)
	if err != nil {
		return nil, err
	}
	return append(text, '}'), nil
}
