package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Handler executes effects of one kind: consecutive ones of one document's outbox, in order. A handler of a kind in
// Config.Mixed may receive effects of several documents.
type Handler func(ctx context.Context, effects []store.Effect) error

// Handlers are the handlers of a package, by the kind of effect.
type Handlers = map[string]func(ctx context.Context, effects []store.Effect) error

// Mux routes effects to handlers by their kind, as [net/http.ServeMux] routes requests. The relay is built with a mux before
// the services are built with the relay; each service's routes are added once the service exists.
type Mux struct {
	mu     sync.RWMutex
	routes map[string]Handler
}

// NewMux returns a mux without routes.
func NewMux() *Mux { return &Mux{routes: map[string]Handler{}} }

// Handle adds routes. It returns an error for a kind that has a handler already.
func (m *Mux) Handle(all ...Handlers) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, handlers := range all {
		for kind, handler := range handlers {
			if _, taken := m.routes[kind]; taken {
				return fmt.Errorf("register effect handlers: kind %q has two handlers", kind)
			}
			m.routes[kind] = handler
		}
	}
	return nil
}

func (m *Mux) handler(kind string) (Handler, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, ok := m.routes[kind]
	return h, ok
}

// Kinds are the kinds that have handlers, in no order.
func (m *Mux) Kinds() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Keys(m.routes))
}
