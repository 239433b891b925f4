package openapi

import "github.com/orch-project/orch/pkg/vocabulary"

// API returns the document of the server's own API in a vocabulary, as served at /api/openapi.json.
func API(vocab vocabulary.Vocabulary) ([]byte, error) {
	return Document(Options{
		Title:   "Orch",
		Version: vocabulary.APIVersion,
		Header:  vocab.VersionHeader(),
		Servers: []string{"/api"},
		Example: examples(vocab),
	}, Services()...)
}
