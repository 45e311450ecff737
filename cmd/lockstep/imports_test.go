package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Imports point down: sim records what happens to nodes and clients, checker says whether it was right, reports shows it, scenarios says
// what to try.
func TestImportsPointDown(t *testing.T) {
	history, link, sim, wasm, workers := "lockstep/sim/history", "lockstep/sim/link", "lockstep/sim", "lockstep/sim/wasm", "lockstep/sim/workers"
	files, script, play, search := "lockstep/scenarios/files", "lockstep/scenarios/script", "lockstep/scenarios/play", "lockstep/scenarios/search"
	nodes, live, engine, redisserver, packagetime := "lockstep/nodes", "lockstep/nodes/live", "lockstep/nodes/engine", "lockstep/nodes/redisserver", "lockstep/nodes/packagetime"
	facts, explain, explorer, playground, sites := "lockstep/checker/facts", "lockstep/checker/explain", "lockstep/reports/explorer", "lockstep/reports/playground", "lockstep/reports/sites"
	foreign, overlay := "lockstep/clients/foreign", "lockstep/sim/overlay"
	reader, shards := "lockstep/scenarios/reader", "lockstep/scenarios/shards"
	given, lesson, pack := "lockstep/clients/given", "lockstep/scenarios/course", "lockstep/scenarios/course/pack"
	claims, fields, source, docs := "lockstep/scenarios/claims", "lockstep/scenarios/internal/fields", "lockstep/scenarios/internal/source", "lockstep/docs"
	may := map[string][]string{
		history:                      {},
		link:                         {history},
		sim:                          {history, link},
		workers:                      {history, sim},
		overlay:                      {},
		wasm:                         {sim, overlay},
		nodes:                        {history, sim, engine},
		live:                         {history, link, sim, workers, nodes, engine, redisserver, packagetime},
		packagetime:                  {history, overlay},
		engine:                       {history},
		redisserver:                  {history},
		"lockstep/clients":           {history, sim, "lockstep/clients/internal/redlock"},
		"lockstep/clients/broken":    {"lockstep/clients", "lockstep/clients/internal/redlock", "lockstep/clients/internal/parts"},
		"lockstep/clients/sound":     {"lockstep/clients", "lockstep/clients/internal/redlock", "lockstep/clients/internal/parts"},
		"lockstep/clients/planted":   {"lockstep/clients"},
		"lockstep/clients/kinds":     {"lockstep/clients"},
		"lockstep/clients/libraries": {"lockstep/clients", history, sim},
		foreign:                      {"lockstep/clients", history, sim, wasm},
		foreign + "/fromc":           {},
		facts:                        {history},
		"lockstep/checker":           {history, facts},
		explain:                      {history, facts, "lockstep/checker"},
		"lockstep/reports":           {history, facts, "lockstep/checker", explain},
		explorer:                     {history, facts, "lockstep/checker", explain, "lockstep/reports", docs},
		"lockstep/reports/pictures":  {history, facts, "lockstep/checker", explain, "lockstep/reports", explorer},
		playground:                   {explorer},
		sites:                        {files},
		"lockstep/reports/debate":    {sites, "lockstep/checker", explain, "lockstep/reports", explorer, "lockstep/reports/pictures", playground, claims},
		claims:                       {history, "lockstep/checker", docs, fields},
		script:                       {history, engine, "lockstep/clients", "lockstep/checker", "lockstep/reports", files, "lockstep/scenarios/catalogue"},
		play:                         {history, sim, wasm, workers, nodes, live, engine, redisserver, packagetime, "lockstep/clients", foreign, facts, "lockstep/checker", "lockstep/reports", explorer, script, source},
		search:                       {history, sim, workers, "lockstep/clients", facts, "lockstep/checker", explain, "lockstep/reports", files, script, play},
		"lockstep/scenarios":         {history, sim, wasm, workers, live, redisserver, "lockstep/clients", "lockstep/checker", "lockstep/reports", explorer, files, script, play, search},
		shards:                       {workers, files, play, search},
		reader:                       {history, "lockstep/clients", "lockstep/checker", explorer, claims, play, script, search},
		given:                        {"lockstep/clients", "lockstep/clients/internal/parts"},
		lesson:                       {history, "lockstep/clients", given, "lockstep/checker", "lockstep/reports", explorer, files, fields, "lockstep/scenarios", script, play},
		pack:                         {lesson, fields},
		"lockstep/reports/course":    {sites, history, "lockstep/checker", "lockstep/reports", explorer, "lockstep/reports/debate", lesson, pack},
		"lockstep/cmd/lockstep":      {overlay, sites, history, facts, sim, wasm, workers, live, engine, redisserver, "lockstep/clients", foreign, "lockstep/checker", explain, "lockstep/reports", explorer, "lockstep/reports/pictures", "lockstep/reports/debate", playground, "lockstep/reports/course", "lockstep/scenarios", claims, reader, "lockstep/clients/libraries", files, script, play, search, shards},

		"lockstep/clients/internal/redlock":  {},
		"lockstep/clients/internal/parts":    {"lockstep/clients"},
		"lockstep/nodes/internal/redistest":  {redisserver},
		"lockstep/internal/typecheck":        {},
		"lockstep/reports/internal/sample":   {history, facts, "lockstep/checker"},
		"lockstep/checker/internal/handmade": {history},
		"lockstep/scenarios/catalogue":       {},
		files:                                {},
		"lockstep/internal/draws":            {},
		fields:                               {history},
		source:                               {},
		docs:                                 {},
		"lockstep/cmd/mutants":               {},
		"lockstep/cmd/lockstep/guest":        {"lockstep/clients", "lockstep/clients/libraries", play},
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "lockstep/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		allowed, known := may[words[0]]
		if strings.HasPrefix(words[0], pack+"/key/") { // solutions of exercises
			allowed, known = []string{"lockstep/clients", given}, true
		}
		if !known {
			t.Errorf("%s is a new package: this test must say what it may import", words[0])
		}
		for _, imported := range words[1:] {
			if strings.HasPrefix(imported, "lockstep/") && !slices.Contains(allowed, imported) {
				t.Errorf("%s must not import %s", words[0], imported)
			}
		}
	}
}

// A user's test links nothing that draws: no plots, no fonts, no PDF. The checker links nothing that runs: no kernel, no Redis.
func TestLightToImport(t *testing.T) {
	for pkg, heavy := range map[string][]string{
		"lockstep/checker":          {"testing", "testing/synctest", "github.com/jonboulle/clockwork", "github.com/redis/go-redis/v9", "lockstep/sim"},
		"lockstep/reports":          {"testing", "testing/synctest", "gonum.org/", "lockstep/sim"},
		"lockstep/reports/explorer": {"testing", "testing/synctest", "gonum.org/", "lockstep/sim"},
		"lockstep/scenarios/course": {"gonum.org/", "codeberg.org/", "golang.org/x/image/", "github.com/spf13/"},
		"lockstep/scenarios":        {"gonum.org/", "codeberg.org/", "golang.org/x/image/", "github.com/spf13/"},
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, out)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, h := range heavy {
				if dep == h || strings.HasSuffix(h, "/") && strings.HasPrefix(dep, h) {
					t.Errorf("%s links %s", pkg, dep)
				}
			}
		}
	}
}
