// Package catalogue holds the scenario files that come with Lockstep; [lockstep/scenarios/script.Catalogue] reads them.
package catalogue

import "embed"

// Files are the scenario files, by their names.
//
//go:embed *.txtar
var Files embed.FS
