// Package weir owns the rules of the house and holds no code.
//
// The service is made of modules, each with one role: the contract in the
// middle, adapters around it, and the bootstrap that puts them together. The
// tests of this package say who may import whom, each rule with its reason, and
// keep the workspace complete. They read files and run nothing.
package weir
