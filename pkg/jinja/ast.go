package jinja

// expr is an expression of the syntax tree.
type expr interface{ at() pos } //nolint:iface // It names the element type of lists.

// node is the position of an expression or statement.
type node struct{ pos pos }

func (n node) at() pos { return n.pos }

type (
	constExpr struct {
		node
		val Value
	}
	// nameMode is the use of a name: load, store or parameter.
	nameMode uint8
	nameExpr struct {
		node
		name string
		mode nameMode
	}
	// nsRefExpr is the target of an assignment to a namespace's attribute.
	nsRefExpr struct {
		node
		name, attr string
	}
	tupleExpr struct {
		node
		items []expr
	}
	listExpr struct {
		node
		items []expr
	}
	dictExpr struct {
		node
		keys, vals []expr
	}
	attrExpr struct {
		node
		obj  expr
		name string
	}
	itemExpr struct {
		node
		obj, key expr
	}
	// sliceExpr has nil for an omitted part.
	sliceExpr struct {
		node
		start, stop, step expr
	}
	keyword struct {
		name string
		val  expr
	}
	// arguments of a call, a filter or a test.
	arguments struct {
		pos        []expr
		kw         []keyword
		star, dict expr
	}
	callExpr struct {
		node
		fn   expr
		args arguments
	}
	filterExpr struct {
		node
		val  expr // nil: the text of the enclosing block
		name string
		args arguments
	}
	testExpr struct {
		node
		val  expr
		name string
		args arguments
	}
	binExpr struct {
		node
		op   tokenKind
		l, r expr
	}
	unaryExpr struct {
		node
		op tokenKind // tokSub or tokAdd
		x  expr
	}
	notExpr struct {
		node
		x expr
	}
	// logicExpr is "and" or "or".
	logicExpr struct {
		node
		and  bool
		l, r expr
	}
	concatExpr struct {
		node
		parts []expr
	}
	compareOp struct {
		op cmpOp
		x  expr
	}
	compareExpr struct {
		node
		x   expr
		ops []compareOp
	}
	condExpr struct {
		node
		test, then expr
		other      expr // nil: undefined
	}
)

const (
	modeLoad nameMode = iota
	modeStore
	modeParam
)

// cmpOp is an operator of a comparison.
type cmpOp uint8

const (
	opEq cmpOp = iota
	opNe
	opLt
	opLe
	opGt
	opGe
	opIn
	opNotIn
)

// stmt is a statement of the syntax tree.
type stmt interface{ at() pos } //nolint:iface // It names the element type of lists.

type (
	// outputStmt prints expressions; dataExpr among them is template text.
	outputStmt struct {
		node
		items []expr
	}
	dataExpr struct {
		node
		text string
	}
	forStmt struct {
		node
		target, iter, test expr
		recursive          bool
		body, other        []stmt
	}
	ifStmt struct {
		node
		test  expr
		body  []stmt
		elifs []*ifStmt
		other []stmt
	}
	setStmt struct {
		node
		target, val expr
	}
	setBlockStmt struct {
		node
		target expr
		filter *filterExpr
		body   []stmt
	}
	signatureNode struct {
		params   []*nameExpr
		defaults []expr // of the last parameters
		body     []stmt
	}
	macroStmt struct {
		node
		name string
		signatureNode
	}
	callStmt struct {
		node
		call *callExpr
		signatureNode
	}
	filterStmt struct {
		node
		filter *filterExpr
		body   []stmt
	}
	withStmt struct {
		node
		targets, vals []expr
		body          []stmt
	}
	autoescapeStmt struct {
		node
		val  expr
		body []stmt
	}
	blockStmt struct {
		node
		name             string
		scoped, required bool
		body             []stmt
	}
	// loaderStmt is extends, include, import or from. The engine has no loader, so executing it is an error.
	loaderStmt struct {
		node
		tag           string
		template      expr
		ignoreMissing bool
		names         []string // assigned
	}
)
