package engine

import (
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// rate counts the firings of an automation in the current minute.
type rate struct {
	minute int64
	count  int
}

// limit drops the firings of automations that fire too often, such as those that cause each other without end. They are
// counted, logged once a minute, and cause nothing.
func (t *tenant) limit(session *trigger.Session) {
	e := t.engine
	if e.FiringsPerMinute <= 0 {
		return
	}
	minute := e.now().Unix() / int64(time.Minute/time.Second)
	session.Keep(func(f trigger.Emission) bool {
		if e.allow(f.Automation.ID, minute) {
			return true
		}
		e.Metrics.limited.Inc()
		return false
	})
}

func (e *Engine) allow(automation uuid.UUID, minute int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.rates[automation]
	if r == nil || r.minute != minute {
		r = &rate{minute: minute}
		e.rates[automation] = r
	}
	r.count++
	if r.count == e.FiringsPerMinute+1 {
		e.Log.Warn("automation fires too often; further firings of this minute cause nothing", "automation", automation, "limit", e.FiringsPerMinute)
	}
	return r.count <= e.FiringsPerMinute
}
