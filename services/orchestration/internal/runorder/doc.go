// Package runorder decides the order in which the waiting runs of a work queue start.
//
//	deployment a: a1 a2 a3 …   due runs by rank: the scheduled start, brought forward by a minute for each point of priority
//	deployment b: b1 b2 …
//	                 └─► without weights: all by rank                 then the runs that are not due, by their start
//	                     as soon as one has a weight: a1 b1 a2 b2 a3 …
//
// Without weights and priorities the order is that of the scheduled starts, which stock clients expect. With weights, a start costs its
// deployment 1/(weight × (1 + priority)) of virtual time, and the deployment with the least comes first. So deployments of equal weight
// start alternately, one of weight 3 has three starts for one of another, and runs with a priority start more often without excluding
// those that have none. A deployment without waiting runs saves no starts. Of deployments with equal virtual time, the one with the first
// rank comes first. A deployment without a weight counts as one of weight 1.
package runorder
