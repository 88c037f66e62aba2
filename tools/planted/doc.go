// Package planted is wrong on purpose: each line that ends in "want: linter", or
// follows "want-next: linter", has a fault that the linter must report.
// scripts/lint-planted compares, so that a configuration which no longer catches
// something is noticed.
package planted
