package main

import (
	"errors"
	"fmt"
	"go/token"
	"regexp"
	"strings"

	"golang.org/x/mod/module"
)

// What the tree is called before it is adopted.
const (
	givenModule = "example.com/weir"
	givenName   = "weir"
)

// label starts the labels under which keys are derived from the operator's
// secret. They belong to the encoding of digests and not to a product: with them
// the known digests stay known, so that the tests of a copy still show that its
// digests are right.
const label = "weir/1/"

// naming is the new path and name.
type naming struct {
	module, name string
	texts        *strings.Replacer
}

// newNaming leaves labels alone, and then looks for the path before the name that
// is part of it. The replacer takes the first that fits, in one pass, so nothing
// that was put in is looked at again.
func newNaming(modulePath, name string) naming {
	return naming{module: modulePath, name: name, texts: strings.NewReplacer(
		label, label,
		givenModule, modulePath,
		givenName, name,
		strings.ToUpper(givenName), strings.ToUpper(name),
		capitalised(givenName), capitalised(name),
	)}
}

func capitalised(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// A name is a command, a Go package, and, in other cases, part of a header's and
// of an environment variable's name. All four bear only this.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]{1,30}$`)

// check says all that is wrong with the naming, given the names of the packages
// that the tree has.
func (n naming) check(packages map[string]string) error {
	var faults []error
	switch err := module.CheckPath(n.module); {
	case n.module == "":
		faults = append(faults, errors.New("MODULE must be given, such as github.com/acme/gate"))
	case err != nil:
		faults = append(faults, fmt.Errorf("MODULE cannot be the path of a module, such as github.com/acme/gate: %w", err))
	default:
		if _, major, ok := module.SplitPathVersion(n.module); !ok || major != "" {
			faults = append(faults, fmt.Errorf("MODULE %s ends in a major version; the modules below it start at v0", n.module))
		}
	}
	switch in, taken := packages[n.name]; {
	case n.name == "":
		faults = append(faults, errors.New("NAME must be given, such as gate"))
	case !namePattern.MatchString(n.name):
		faults = append(faults, fmt.Errorf("NAME is %q, must match %s: it becomes a command, a package, a header and a variable", n.name, namePattern))
	case token.IsKeyword(n.name) || n.name == "main" || n.name == "test":
		faults = append(faults, fmt.Errorf("NAME %s means something to Go; choose another one", n.name))
	case taken && n.name != givenName:
		faults = append(faults, fmt.Errorf("NAME %s is the name of package %s; choose another one", n.name, in))
	}
	return errors.Join(faults...)
}
