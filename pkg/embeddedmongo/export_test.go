package embeddedmongo

import "context"

// Sweep does at once what the sweeper does now and then.
func Sweep(s *Server) error {
	s.service.Expire()
	return s.removeExpired(context.Background()) //nolint:forbidigo // No test is at hand.
}

// Compact flushes and compacts the whole store.
func Compact(s *Server) error {
	if err := s.engine.DB().Flush(); err != nil {
		return err
	}
	return s.engine.DB().Compact(context.Background(), []byte{0}, []byte{0xff}, false) //nolint:forbidigo // No test is at hand.
}
