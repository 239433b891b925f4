// Package runorder decides the order in which the waiting runs of a work queue start.
//
//	deployment a: a1 a2 a3 …   by rank: the scheduled start, brought forward by a minute for each point of priority
//	deployment b: b1 b2 …
//	                 └─► turns: a1 b1 a2 b2 a3 …
//
// A start costs its deployment 1/(weight × (1 + priority)) of virtual time, and the deployment with the least comes first. So
// deployments of equal weight take turns, one of weight 3 has three starts for one of another, and runs with a priority start more often
// without excluding those that have none. A deployment without waiting runs saves no starts. Of deployments with equal virtual time, the
// one with the first rank comes first.
package runorder
