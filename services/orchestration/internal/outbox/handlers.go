package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Handler executes the effects of one kind.
type Handler struct {
	Kind string
	// Run executes consecutive effects of one document's outbox, in order.
	Run func(ctx context.Context, effects []store.Effect) error
	// Batch allows Run to receive the effects of several documents at once.
	Batch bool
	// Blocking keeps later effects of a document from overtaking one of this kind: a permanent failure blocks its document.
	Blocking bool
}

// Mux routes effects to handlers by their kind, as [net/http.ServeMux] routes requests. The relay is built with a mux before
// the services are built with the relay; each service's routes are added once the service exists.
type Mux struct {
	mu       sync.RWMutex
	handlers map[string]Handler
}

// NewMux returns a mux without handlers.
func NewMux() *Mux { return &Mux{handlers: map[string]Handler{}} }

// Handle adds handlers. It returns an error for a kind that has a handler already.
func (m *Mux) Handle(handlers ...Handler) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range handlers {
		if _, taken := m.handlers[h.Kind]; taken {
			return fmt.Errorf("register effect handlers: kind %q has two handlers", h.Kind)
		}
		m.handlers[h.Kind] = h
	}
	return nil
}

// handler returns the handler of a kind. Without one, its Run is nil.
func (m *Mux) handler(kind string) Handler {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.handlers[kind]
}

// Kinds are the kinds that have handlers, in no order.
func (m *Mux) Kinds() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Keys(m.handlers))
}
