package jinja

import "math/big"

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokData
	tokVarBegin
	tokVarEnd
	tokBlockBegin
	tokBlockEnd
	tokName
	tokString
	tokInteger
	tokFloat
	tokAdd
	tokSub
	tokMul
	tokDiv
	tokFloorDiv
	tokMod
	tokPow
	tokTilde
	tokLBracket
	tokRBracket
	tokLParen
	tokRParen
	tokLBrace
	tokRBrace
	tokEq
	tokNe
	tokGt
	tokGe
	tokLt
	tokLe
	tokAssign
	tokDot
	tokColon
	tokPipe
	tokComma
	tokSemicolon
)

var tokenNames = [...]string{
	tokEOF: "end of template", tokData: "template data", tokVarBegin: "begin of print statement",
	tokVarEnd: "end of print statement", tokBlockBegin: "begin of statement block",
	tokBlockEnd: "end of statement block", tokName: "name", tokString: "string", tokInteger: "integer",
	tokFloat: "float", tokAdd: "+", tokSub: "-", tokMul: "*", tokDiv: "/", tokFloorDiv: "//", tokMod: "%",
	tokPow: "**", tokTilde: "~", tokLBracket: "[", tokRBracket: "]", tokLParen: "(", tokRParen: ")",
	tokLBrace: "{", tokRBrace: "}", tokEq: "==", tokNe: "!=", tokGt: ">", tokGe: ">=", tokLt: "<",
	tokLe: "<=", tokAssign: "=", tokDot: ".", tokColon: ":", tokPipe: "|", tokComma: ",", tokSemicolon: ";",
}

// token is a piece of source. text is a name, template data, or the value of a string.
type token struct {
	kind  tokenKind
	pos   pos
	text  string
	num   *big.Int // tokInteger beyond int64, else nil
	small int64    // tokInteger
	float float64  // tokFloat
}

// describe names the token for a message.
func (t token) describe() string {
	if t.kind == tokName {
		return t.text
	}
	return tokenNames[t.kind]
}

// isName reports whether the token is the name w.
func (t token) isName(w string) bool { return t.kind == tokName && t.text == w }
