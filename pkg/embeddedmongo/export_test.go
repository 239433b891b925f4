package embeddedmongo

import "context"

// Sweep does at once what the sweeper does now and then.
func Sweep(s *Server) error {
	s.service.Expire()
	_, err := s.engine.Sweep(context.Background()) //nolint:forbidigo // No test is at hand.
	return err
}
