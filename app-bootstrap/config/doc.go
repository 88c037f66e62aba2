// Package config turns what an operator writes into a [Config]: typed,
// validated and resolved, with secrets read and policies built.
//
// Three sources lie on top of the defaults, the later ones winning: one YAML file,
// the environment, and key=value pairs from the command line.
// [Load] reads them all and reports every fault at once as [Faults], each under
// the full key that the operator wrote, because a start that fails five times
// over five typing errors wastes an evening.
//
// No message of this package holds a secret, nor a text that may be one in the
// wrong place, such as the path of a secret's file or the userinfo of an
// endpoint.
package config
