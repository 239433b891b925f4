package show

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Frame is a line of a Python traceback.
type Frame struct {
	File, Function, Source string
	Line                   int
}

// Name returns the last part of the file's path.
func (f Frame) Name() string { return f.File[strings.LastIndexAny(f.File, `/\`)+1:] }

// Traceback is the last traceback of a log message, as Python's traceback module prints it. Earlier tracebacks are its causes.
type Traceback struct {
	// Error is the exception with its message.
	Error  string
	Frames []Frame
	// Count is the number of tracebacks in the message.
	Count int
}

// TracebackHead begins a traceback.
const TracebackHead = "Traceback (most recent call last):"

// frameLine is `  File "etl.py", line 42, in fetch`; an exception group indents it with "| ".
var frameLine = regexp.MustCompile(`^[ |]*File "(.+)", line (\d+)(?:, in (.+))?$`)

// underline marks the part of a source line at which the error occurred.
var underline = regexp.MustCompile(`^[ |]*[\^~]+$`)

// ParseTraceback returns the last traceback of a text, false if the text has none in the form of the traceback module.
func ParseTraceback(text string) (Traceback, bool) {
	parts := strings.Split(text, TracebackHead)
	if len(parts) < 2 {
		return Traceback{}, false
	}
	t := Traceback{Count: len(parts) - 1}
	lines := strings.Split(parts[len(parts)-1], "\n")
	for _, line := range lines {
		if match := frameLine.FindStringSubmatch(line); match != nil {
			number, err := strconv.Atoi(match[2])
			if err != nil {
				return Traceback{}, false
			}
			t.Frames = append(t.Frames, Frame{File: match[1], Line: number, Function: match[3]})
			continue
		}
		trimmed := strings.TrimLeft(line, " |")
		switch {
		case len(t.Frames) == 0 || trimmed == "" || underline.MatchString(line):
		case strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "  |"):
			if last := &t.Frames[len(t.Frames)-1]; last.Source == "" {
				last.Source = trimmed
			}
		case t.Error == "" && line == trimmed:
			t.Error = line
		}
	}
	return t, len(t.Frames) > 0 && t.Error != ""
}

// Own returns the last frame of the user's code, false if all frames are of libraries.
func (t Traceback) Own() (Frame, bool) {
	for _, frame := range slices.Backward(t.Frames) {
		if !library(frame.File) {
			return frame, true
		}
	}
	return Frame{}, false
}

// library reports whether a file belongs to Python or to an installed package.
func library(file string) bool {
	file = strings.ReplaceAll(file, `\`, "/")
	for _, part := range []string{"/site-packages/", "/dist-packages/", "/lib/python", "/Lib/", "/src/prefect/"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return strings.HasPrefix(file, "<")
}
