package embeddedmongo

import "context"

// Sweep does at once what the sweeper does now and then.
func Sweep(s *Server) error {
	s.service.Expire()
	return s.removeExpired(context.Background()) //nolint:forbidigo // No test is at hand.
}
