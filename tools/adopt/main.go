// Command adopt turns a copy of this tree into another team's: it gives the
// modules another path, and everything that bears the service's name another
// name.
//
//	adopt -check -module github.com/acme/gate -name gate DIRECTORY
//	adopt -module github.com/acme/gate -name gate DIRECTORY
//
// With -check it changes nothing and only says whether path and name can be had.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	modulePath := flag.String("module", "", "path of the new root module, such as github.com/acme/gate")
	name := flag.String("name", "", "name of the new service, such as gate")
	check := flag.Bool("check", false, "change nothing, only check module and name")
	flag.Parse()
	if err := run(*modulePath, *name, flag.Args(), *check); err != nil {
		fmt.Fprintln(os.Stderr, "adopt: "+strings.ReplaceAll(err.Error(), "\n", "\nadopt: "))
		os.Exit(1)
	}
}

func run(modulePath, name string, directories []string, check bool) error {
	if len(directories) != 1 {
		return errors.New("name one directory")
	}
	naming := newNaming(modulePath, name)
	tree := tree{directory: directories[0]}
	packages, err := tree.packages()
	if err != nil {
		return err
	}
	if err := naming.check(packages); err != nil || check {
		return err
	}
	return tree.rename(naming)
}
