package web

// consoleCases are the pages of webhooks, events and traces.
func consoleCases() []pageCase { return nil }
