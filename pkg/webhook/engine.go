package webhook

import (
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Options are what the engine needs to know. The zero value is good for compiling.
type Options struct {
	// Vocabulary chooses the label under which from_cloud_event puts the resource's id.
	Vocabulary vocabulary.Vocabulary
	// Budget bounds each rendering; its zero fields are the engine's defaults.
	Budget jinja.Budget
	// Strict makes a missing value an error unless it is tested or has a default.
	Strict bool
	// CacheEntries is the number of compiled templates that are kept; 0 means the engine's default.
	CacheEntries int
}

// NewEngine makes an engine for webhook templates. Parts of missing values are missing too: {{ body.a.b.c }} prints
// nothing when there is no a.
func NewEngine(o Options) *jinja.Engine {
	undefined := jinja.Chainable
	if o.Strict {
		undefined = jinja.Strict
	}
	return jinja.New(jinja.Options{
		Undefined:    undefined,
		Budget:       o.Budget,
		CacheEntries: o.CacheEntries,
		Filters:      map[string]jinja.FilterFunc{"from_cloud_event": fromCloudEvent(o.Vocabulary)},
	})
}
