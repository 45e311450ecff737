// Package catalogue holds the scenario files that come with Lockstep; [lockstep/scenarios/script.Catalogue] reads them.
package catalogue

import "embed"

// Files has the scenario files, by name.
//
//go:embed *.txtar
var Files embed.FS
