package automations

import (
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

// Checker checks automations and fills in what was not sent, without a store.
type Checker struct {
	templates *jinja.Engine
	vocab     vocabulary.Vocabulary
	order     runorder.Settings
	newID     func() uuid.UUID
}

// NewChecker returns a checker whose triggers get random ids.
func NewChecker(vocab vocabulary.Vocabulary) *Checker { return newChecker(vocab, uuid.New) }

func newChecker(vocab vocabulary.Vocabulary, newID func() uuid.UUID) *Checker {
	return &Checker{templates: newTemplates(), vocab: vocab, order: runorder.NewSettings(vocab), newID: newID}
}

// Vocabulary returns the vocabulary of the automations.
func (s *Checker) Vocabulary() vocabulary.Vocabulary { return s.vocab }
