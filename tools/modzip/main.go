// Command modzip packs modules as the go command would pack their tags, into a
// directory that serves as a module proxy of files:
//
//	modzip -version v0.1.0 -proxy DIRECTORY MODULE-DIRECTORY…
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	version := flag.String("version", "", "version of the modules, such as v0.1.0")
	proxy := flag.String("proxy", "", "directory of the module proxy")
	flag.Parse()
	for _, directory := range flag.Args() {
		if err := pack(directory, *version, *proxy); err != nil {
			fmt.Fprintf(os.Stderr, "modzip: %s: %v\n", directory, err)
			os.Exit(1)
		}
	}
}

// pack writes what a proxy serves of the module in directory: a list of its
// versions, and of the one version its description, its go.mod and its files.
func pack(directory, version, proxy string) error {
	requirements, err := os.ReadFile(filepath.Join(directory, "go.mod"))
	if err != nil {
		return err
	}
	of := module.Version{Path: modfile.ModulePath(requirements), Version: version}
	if err := module.Check(of.Path, of.Version); err != nil {
		return err
	}
	escaped, err := module.EscapePath(of.Path)
	if err != nil {
		return err
	}
	var files bytes.Buffer
	if err := zip.CreateFromDir(&files, of, directory); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Now().UTC()})
	if err != nil {
		return err
	}
	to := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	return errors.Join(
		os.MkdirAll(to, 0o755),
		os.WriteFile(filepath.Join(to, "list"), []byte(version+"\n"), 0o644),
		os.WriteFile(filepath.Join(to, version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(to, version+".mod"), requirements, 0o644),
		os.WriteFile(filepath.Join(to, version+".zip"), files.Bytes(), 0o644),
	)
}
