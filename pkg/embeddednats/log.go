package embeddednats

import (
	"fmt"
	"log/slog"
)

// logAdapter passes the server's reports to slog. The server's own debug and trace reports are off.
type logAdapter struct {
	to    *slog.Logger
	fatal chan<- string // Gets the first fatal report: the server's own logger would end the process.
}

func (l *logAdapter) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *logAdapter) Warnf(format string, v ...any)   { l.to.Warn(fmt.Sprintf(format, v...)) }
func (l *logAdapter) Errorf(format string, v ...any)  { l.to.Error(fmt.Sprintf(format, v...)) }
func (l *logAdapter) Debugf(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *logAdapter) Tracef(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }

func (l *logAdapter) Fatalf(format string, v ...any) {
	reason := fmt.Sprintf(format, v...)
	l.to.Error(reason)
	select {
	case l.fatal <- reason:
	default:
	}
}
