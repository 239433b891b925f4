package webhook

import "github.com/orch-project/orch/pkg/vocabulary"

// CompileCheck returns a function that tells what is wrong with a webhook's template, with its line, before it is saved.
func CompileCheck(vocab vocabulary.Vocabulary) func(template string) error {
	engine := NewEngine(Options{Vocabulary: vocab})
	return func(template string) error {
		_, err := engine.Cached(template)
		return err
	}
}
