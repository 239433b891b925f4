package jinja

import "strings"

// PieceKind is the kind of a Piece.
type PieceKind uint8

// The kinds of pieces.
const (
	// PieceText is text outside of tags, and in raw blocks.
	PieceText PieceKind = iota
	// PieceString is a string literal of an expression, without its quotes.
	PieceString
	// PieceAttribute is a name that follows a dot in an expression.
	PieceAttribute
	// PieceName is any other name in a tag.
	PieceName
)

// Piece is a part of a template's source that a program may read or replace: source[Start:End].
type Piece struct {
	Kind       PieceKind
	Start, End int
}

// Pieces returns the pieces of a template's source in their order; comments have none. It fails for a source that cannot be
// split into tokens.
func Pieces(source string) ([]Piece, error) {
	src := newSource(source)
	tokens, err := lex(src, DefaultBudget().Depth)
	if err != nil {
		return nil, err
	}
	original := originalOffsets(source, src.text)
	pieces := make([]Piece, 0, len(tokens))
	for i, t := range tokens {
		p := Piece{Start: int(t.pos)}
		switch t.kind {
		case tokData:
			p.Kind, p.End = PieceText, p.Start+len(t.text)
		case tokString:
			p.Kind = PieceString
			p.Start, p.End = inQuotes(src.text, p.Start)
		case tokName:
			p.Kind, p.End = PieceName, p.Start+len(t.text)
			if i > 0 && tokens[i-1].kind == tokDot {
				p.Kind = PieceAttribute
			}
		default:
			continue
		}
		p.Start, p.End = original(p.Start), original(p.End)
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// inQuotes returns the content of the string literal at an offset. The lexer has found its end.
func inQuotes(text string, at int) (start, end int) {
	quote := text[at]
	for end = at + 1; text[end] != quote; end++ {
		if text[end] == '\\' {
			end++
		}
	}
	return at + 1, end
}

// originalOffsets returns a function from ascending offsets of the normalised source to those of the original, whose line
// breaks may be longer.
func originalOffsets(original, normalised string) func(int) int {
	if !strings.Contains(original, "\r\n") {
		return func(at int) int { return at }
	}
	shift, reached := 0, 0
	return func(at int) int {
		for ; reached < at; reached++ {
			if normalised[reached] == '\n' && strings.HasPrefix(original[reached+shift:], "\r\n") {
				shift++
			}
		}
		return at + shift
	}
}
