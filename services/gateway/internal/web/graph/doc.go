// Package graph draws the task runs of a flow run and their dependencies: columns from left to right, several runs of one
// task as one box, an opened subflow as a box with its own columns inside.
//
//	nodes → groups → columns → order within a column → positions → SVG, and a list with the same content
//
// Equal nodes give equal bytes in any order: every sort ends with start time and id, no output ranges over a map, and positions
// are integers. The method is the layered one of Sugiyama, Tagawa and Toda (1981): longest
// paths give the columns, barycentres the order, medians the positions.
package graph
