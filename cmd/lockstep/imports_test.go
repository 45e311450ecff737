package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Imports point down: sim says what happened, checker says whether it was right, reports shows it, nodes and clients are
// what it happens to, scenarios says what to try.
func TestImportsPointDown(t *testing.T) {
	history, sim, workers := "lockstep/sim/history", "lockstep/sim", "lockstep/sim/workers"
	may := map[string][]string{
		history:                      {},
		sim:                          {history},
		workers:                      {history, sim},
		"lockstep/nodes":             {history, sim, workers},
		"lockstep/clients":           {history, sim, "lockstep/clients/internal/redlock"},
		"lockstep/clients/broken":    {"lockstep/clients", "lockstep/clients/internal/redlock"},
		"lockstep/clients/planted":   {"lockstep/clients"},
		"lockstep/clients/kinds":     {"lockstep/clients"},
		"lockstep/clients/libraries": {"lockstep/clients", history, sim},
		"lockstep/checker":           {history},
		"lockstep/reports":           {history, "lockstep/checker"},
		"lockstep/scenarios":         {history, sim, workers, "lockstep/nodes", "lockstep/clients", "lockstep/checker", "lockstep/reports", "lockstep/scenarios/files"},
		"lockstep/cmd/lockstep":      {history, sim, workers, "lockstep/nodes", "lockstep/clients", "lockstep/checker", "lockstep/reports", "lockstep/scenarios", "lockstep/clients/libraries", "lockstep/scenarios/files"},

		"lockstep/clients/internal/redlock": {},
		"lockstep/scenarios/files":          {},
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "lockstep/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		allowed, known := may[words[0]]
		if !known {
			t.Errorf("%s is a new package: say in this test what it may import", words[0])
		}
		for _, imported := range words[1:] {
			if strings.HasPrefix(imported, "lockstep/") && !slices.Contains(allowed, imported) {
				t.Errorf("%s must not import %s", words[0], imported)
			}
		}
	}
}
