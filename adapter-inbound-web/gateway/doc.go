// Package gateway is the way on to the protected application: what a request
// reaches once the edge has let it pass. Where no application is configured,
// [Resource] stands in for it.
package gateway
