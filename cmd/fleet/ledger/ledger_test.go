package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// page is a small scenario whose shape depends on n: n steps of the proof.
func page(lock string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Two clients hold the lock at once.\n#\n# A story.\n\nclient c1\n  acquire\n\n-- %s nodes=1 --\nexpect lease exclusion violated: none\n", lock)
	b.WriteString("   0.000s  c1       invoke  acquire\n")
	for i := range n {
		b.WriteString([]string{"!  0.001s  n1       set     lock            for c1#1, the grant\n", "!  0.002s  c1       ok      acquire         c1#1, no end\n"}[i%2])
	}
	return b.String()
}

// line is what a search prints that found stories with so many steps.
func line(lock string, steps ...int) string {
	p := map[string]any{
		"lock": lock, "workload": "once", "seed": 1,
		"bounded": map[string]any{"bound": 1, "kinds": []string{"pause"}, "constants": map[string]any{"ttl": 1e10}, "played": 10},
	}
	found := []any{}
	for _, n := range steps {
		found = append(found, map[string]any{
			"property": "lease exclusion", "assumption": "none", "perturbations": 1, "seed": 1, "token": "lk1.abc",
			"plan":     []any{map[string]any{"kind": "pause", "at": 1, "steps": []string{"pause c1 1s"}}},
			"scenario": page(lock, n),
		})
	}
	p["found"] = found
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func add(l *Ledger, night string, texts ...string) (*Night, error) {
	var all []Input
	for i, s := range texts {
		all = append(all, Input{fmt.Sprintf("file%d.json", i+1), strings.NewReader(s)})
	}
	batch, err := Read(all)
	if err != nil {
		return nil, err
	}
	return l.Add(context.Background(), night, "", batch)
}

func mustAdd(t *testing.T, l *Ledger, night string, texts ...string) *Night {
	t.Helper()
	n, err := add(l, night, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func open(t *testing.T, file string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// all is all that a ledger says: the list, its JSON, each finding, and the page.
func all(t *testing.T, l *Ledger) string {
	t.Helper()
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	WriteList(&b, list)
	if err := WriteJSON(&b, list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		f, history, err := l.Show(t.Context(), f.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteText(&b, history)
		if err := f.WriteJSON(&b, history); err != nil {
			t.Fatal(err)
		}
	}
	p, err := l.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Files() {
		fmt.Fprintf(&b, "%s\n%s", f.Name, f.Data)
	}
	return b.String()
}

// TestNights follows findings through nights, and closes one.
func TestNights(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	for _, step := range []struct{ night, texts, want string }{
		{"1", line("a", 2), "1 new, 0 regressed, 0 ongoing, 0 resolved"},
		{"2", line("a", 2) + line("b"), "0 new, 0 regressed, 1 ongoing, 0 resolved"},
		{"3", line("a") + line("b", 3), "1 new, 0 regressed, 0 ongoing, 1 resolved"},
		{"4", line("a", 2), "0 new, 1 regressed, 0 ongoing, 0 resolved"},
		{"5", line("a", 4), "1 new, 0 regressed, 0 ongoing, 0 resolved, 1 not looked for"},
	} {
		n := mustAdd(t, l, step.night, step.texts)
		if n.Counts() != step.want {
			t.Errorf("night %s: %s, not %s", step.night, n.Counts(), step.want)
		}
	}

	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var id string
	for _, f := range list {
		if f.State == Regressed {
			id = f.ID
		}
	}
	for _, reason := range []string{"", "  ", strings.Repeat("x", 1001), "two\nlines"} {
		if _, err := l.CloseFinding(t.Context(), id, reason); err == nil {
			t.Errorf("closed for %q", reason)
		}
	}
	if _, err := l.Reopen(t.Context(), id); err == nil {
		t.Error("reopened a finding that is not closed")
	}
	if f, err := l.CloseFinding(t.Context(), id[:5], "known"); err != nil || f.State != Closed || f.Reason != "known" {
		t.Fatal(f, err)
	}
	if n := mustAdd(t, l, "6", line("a", 2, 6)); n.Counts() != "1 new, 0 regressed, 0 ongoing, 0 resolved, 1 found again although closed, 1 not looked for" {
		t.Error(n.Counts())
	}
	if n := mustAdd(t, l, "7", line("a")); len(n.Resolved) != 2 || n.Bad() {
		t.Error(n.Counts())
	}
	if f, err := l.Reopen(t.Context(), id); err != nil || f.State != Resolved {
		t.Error(f, err)
	}
}

// Two findings of one lock, property and assumption differ in what goes wrong. Each output says it.
func TestFaults(t *testing.T) {
	var found []string
	for n, lanes := range []string{
		"client c1\n  acquire\n  pause 12s\nnemesis\n  cut c1-n1\n",
		"client c1\n  acquire\nnemesis\n  crash n1\n  when n1 sets c1 restart n1 empty\n",
		"client c1\n  acquire\n",
	} {
		scenario := strings.Replace(page("a", n+2), "client c1\n  acquire\n", lanes, 1)
		text, err := json.Marshal(map[string]string{"property": "lease exclusion", "assumption": "durable nodes", "scenario": scenario})
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(text))
	}
	found = append(found, `{"property":"lease exclusion","assumption":"durable nodes","plan":[{"kind":"crash","steps":["crash n1"]}]}`)
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	n := mustAdd(t, l, "1", `{"lock":"a","seed":1,"bounded":{"bound":1,"kinds":["crash"]},"found":[`+strings.Join(found, ",")+`]}`)
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var night, table bytes.Buffer
	n.WriteText(&night)
	WriteList(&table, list)
	for output, text := range map[string]string{"night": night.String(), "list": table.String(), "summary": n.Markdown(0), "page": string(p.index)} {
		for _, want := range []string{"pause c1 12s; cut c1-n1", "crash n1; restart n1 empty", "none", "not reduced: crash"} {
			if !strings.Contains(strings.ReplaceAll(text, "&#58;", ":"), want) {
				t.Errorf("%s: %q is missing in\n%s", output, want, text)
			}
		}
	}
}

// TestTwice checks that adding the same again changes nothing, in the file and in what is printed.
func TestTwice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.db")
	l := open(t, file)
	texts := []string{line("a", 2, 3), line("b", 2)}
	var first, again bytes.Buffer
	mustAdd(t, l, "1", texts...).WriteText(&first)
	was := all(t, l)
	mustAdd(t, l, "1", texts...).WriteText(&again)
	mustAdd(t, l, "1", texts[1])
	if first.String() != again.String() {
		t.Errorf("%s\nbut again\n%s", &first, &again)
	}
	if now := all(t, l); now != was {
		t.Errorf("%s\nbut again\n%s", was, now)
	}
}

// TestSameBytes checks that the same nights in the same order give the same, and that the order of the files of a night does not matter.
func TestSameBytes(t *testing.T) {
	var texts []string
	for _, swap := range []bool{false, true, false} {
		l := open(t, filepath.Join(t.TempDir(), "l.db"))
		for night := range 6 {
			files := []string{line("a", night%3+2, 7), line("b", night%2+2), line("c")}
			if swap {
				files[0], files[1] = files[1], files[0]
			}
			mustAdd(t, l, fmt.Sprint("night", night), files...)
		}
		texts = append(texts, all(t, l))
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Error("the same nights were told differently")
	}
}

// TestLate adds to an earlier night after later ones. The order in which things become known does not matter.
func TestLate(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	mustAdd(t, l, "1", line("b"))
	mustAdd(t, l, "2", line("a"))
	mustAdd(t, l, "3", line("a", 2))
	n := mustAdd(t, l, "1", line("a", 2))
	if n.Counts() != "1 new, 0 regressed, 0 ongoing, 0 resolved" {
		t.Error(n.Counts())
	}
	list, err := l.List(t.Context())
	if err != nil || len(list) != 1 || list[0].State != Regressed || list[0].First != "1" || list[0].Nights != 2 {
		t.Error(list[0], err)
	}
}

// TestSmallest keeps the smallest scenario of a finding.
func TestSmallest(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	small := line("a", 2)
	large := strings.ReplaceAll(small, `acquire\n\n`, `acquire\n  sleep 1s\n\n`)
	for i, text := range []string{large, small, large} {
		mustAdd(t, l, fmt.Sprint(i), text)
	}
	list, err := l.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Scenario != page("a", 2) || list[0].Nights != 3 {
		t.Error(list, err)
	}
}

// TestSmallestPasses keeps a larger scenario once the replay of the smaller one has passed.
func TestSmallestPasses(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	small := line("a", 2)
	large := strings.ReplaceAll(small, `acquire\n\n`, `acquire\n  sleep 1s\n\n`)
	mustAdd(t, l, "1", small)
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.record(t.Context(), "2", "", nil, []Replayed{{list[0], Gone, ""}}); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, l, "3", large)
	if list, err = l.List(t.Context()); err != nil || !strings.Contains(list[0].Scenario, "sleep 1s") {
		t.Error("the scenario that passes is kept", list, err)
	}
	mustAdd(t, l, "4", small)
	if list, err = l.List(t.Context()); err != nil || list[0].Scenario != page("a", 2) {
		t.Error("the smaller one is not taken", list, err)
	}
}

// TestOneNight replays a small scenario, which passes, before the search of the same night finds a larger one. The finding was there all the time. As
// two nights, it would have regressed.
func TestOneNight(t *testing.T) {
	small := line("a", 2)
	large := strings.ReplaceAll(small, `acquire\n\n`, `acquire\n  sleep 1s\n\n`)
	for night, want := range map[string]State{"2": Ongoing, "3": Regressed} {
		l := open(t, filepath.Join(t.TempDir(), "l.db"))
		mustAdd(t, l, "1", large)
		mustAdd(t, l, "1", small)
		list, err := l.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := l.record(t.Context(), "2", "", nil, []Replayed{{list[0], Gone, ""}}); err != nil || len(n.Resolved) != 1 {
			t.Fatal(n, err)
		}
		n := mustAdd(t, l, night, large)
		if list, err = l.List(t.Context()); err != nil || list[0].State != want || n.Bad() != (want == Regressed) {
			t.Errorf("added to night %s: %v, %v, %s", night, list, err, n.Counts())
		}
	}
}

// TestAlarmOnce alarms about a finding only when an addition makes it new or regressed; the table is that of the night.
func TestAlarmOnce(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	if n := mustAdd(t, l, "1", line("a", 2)); !n.Bad() {
		t.Error("no alarm about what is new")
	}
	if n := mustAdd(t, l, "1", line("b")); n.Bad() || len(n.New) != 1 {
		t.Errorf("alarm %v: %s", n.Bad(), n.Counts())
	}
	if n := mustAdd(t, l, "1", line("c", 3)); !n.Bad() || len(n.New) != 2 {
		t.Errorf("alarm %v: %s", n.Bad(), n.Counts())
	}
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, l, "2", line("a"))
	n, err := l.record(t.Context(), "3", "", nil, []Replayed{{list[0], Fails, ""}})
	if err != nil || !n.Bad() || len(n.Regressed) != 1 {
		t.Fatal(n, err)
	}
	if n := mustAdd(t, l, "3", line("a", 2)); n.Bad() || len(n.Regressed) != 1 {
		t.Errorf("alarm %v after that of the replay: %s", n.Bad(), n.Counts())
	}
}

// TestVersions takes the versions from what version --json prints, and counts two versions as one finding.
func TestVersions(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	mustAdd(t, l, "1", `[{"name":"lockstep","version":"v1"},{"name":"a","version":"v0.9.3"}]`+"\n"+line("a", 2))
	mustAdd(t, l, "2", `[{"name":"lockstep","version":"v2"},{"name":"a","version":"v0.9.4"}]`+"\n", line("a", 2))
	list, err := l.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	_, history, err := l.Show(t.Context(), list[0].ID)
	if err != nil || len(history) != 2 || history[0].Version != "v0.9.3" || history[1].Version != "v0.9.4" || history[1].Build != "v2" || history[1].State != Ongoing {
		t.Error(history, err)
	}
	// Two versions on one night: it is still there, and the history says in which.
	mustAdd(t, l, "3", `[{"name":"a","version":"v0.9.4"}]`+"\n"+line("a", 2)+`[{"name":"a","version":"v0.9.5"}]`+"\n"+line("a"))
	_, history, err = l.Show(t.Context(), list[0].ID)
	if err != nil || len(history) != 4 || history[2].Outcome != Found || history[3].Version != "v0.9.5" || history[3].Outcome != Absent || history[3].State != Ongoing {
		t.Error(history, err)
	}
}

// TestBuild shows by which build of Lockstep something was found. Two builds on one night are two lines. Older programs say only their version.
func TestBuild(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	var night string
	for _, build := range []string{one, two} {
		night += `[{"name":"lockstep","version":"(devel)"},{"name":"build","version":"` + build + `"}]` + "\n" + line("a", 2)
	}
	mustAdd(t, l, "1", night)
	mustAdd(t, l, "2", `[{"name":"lockstep","version":"v1"}]`+"\n"+line("a", 2))
	list, err := l.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	_, history, err := l.Show(t.Context(), list[0].ID)
	if err != nil || len(history) != 3 || history[0].Build != one || history[1].Build != two || history[2].Build != "v1" {
		t.Error(history, err)
	}
	text := all(t, l)
	for _, want := range []string{
		"1               sha256:111111111111  found    workload once, bound 1  new\n",
		`"build": "` + two + `",`,
		`<td title="` + two + `">sha256:222222222222<td>found`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestBadInput checks the errors, and that nothing is added if there is one.
func TestBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.db")
	l := open(t, file)
	mustAdd(t, l, "0", line("a", 2))
	was := all(t, l)
	good := line("a", 2, 3)
	for _, test := range []struct{ text, want string }{
		{"", "file1.json: it is empty"},
		{"\n\n", "file1.json: it is empty"},
		{"hello", "file1.json:1: not a line of lockstep explore --json: the line must be a JSON object"},
		{good + good[:200], "file1.json:2: the line breaks off"},
		{good + "\x00\x01\n", "file1.json:2: not a line"},
		{"\xff\xfe{}", "file1.json:1: not a line"},
		{"{}", `file1.json:1: not a line of lockstep explore --json: it must have a "lock"`},
		{`{"lock":"a","found":[]}`, `it must have a "bounded" or a "random" search`},
		{`{"lock":1,"found":[]}`, `"lock" must be a string`},
		{`{"lock":"a","verdict":"SAFE"}`, "that is a line of lockstep run --json"},
		{`{"command":"x","groups":[]}`, "that is a matrix"},
		{`[1,2]`, "an array must be what lockstep version --json prints"},
		{`null`, "it must have"},
		{`"text"`, "the line must be"},
		{strings.Replace(good, `"assumption":"none"`, `"assumption":""`, 1), `finding 1: it must have a "property" and an "assumption"`},
		{strings.Replace(good, "lk1.abc", "lk1.a; rm -rf /", 1), "its token must be one that lockstep explore has printed"},
		{strings.Replace(good, "client c1", "klient c1", 1), "finding 1: its scenario cannot be read"},
		{strings.Replace(good, `"lock":"a"`, `"lock":"`+strings.Repeat("a", 201)+`"`, 1), "may have at most 200 bytes"},
		{strings.Repeat(" ", longestLine+1), "file1.json:1: a line may have at most 64 MB"},
	} {
		_, err := add(l, "1", test.text, good)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60q: %v, not %s", test.text, err, test.want)
		}
		if strings.TrimSpace(test.text) == "" {
			continue
		}
		if _, err := add(l, "1", good, good+test.text); err == nil || !strings.HasPrefix(err.Error(), "file2.json:") {
			t.Errorf("%.60q in the second file: %v", test.text, err)
		}
	}
	if _, err := add(l, "1", `[{"name":"a","version":"1"}]`); err == nil || !strings.Contains(err.Error(), "file1.json: there is no search in it") {
		t.Error(err)
	}
	for _, night := range []string{"", " x", "a\nb", "\x1b[31m", strings.Repeat("x", 101)} {
		if _, err := add(l, night, good); err == nil || !strings.Contains(err.Error(), "--night") {
			t.Errorf("night %q: %v", night, err)
		}
	}
	if now := all(t, l); now != was {
		t.Error("something was added")
	}
}

// TestHostile shows names and stories that could be commands to a terminal, or markup.
func TestHostile(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	const evil = "<script>alert(1)</script>|`x`\x1b[31m\u202e[a](http://x) ::error::"
	text, err := json.Marshal(map[string]any{
		"lock": evil, "workload": evil, "bounded": map[string]any{"bound": 1, "kinds": []string{"pause"}},
		"found": []any{map[string]any{"property": evil, "assumption": evil, "plan": []any{map[string]any{"kind": evil, "steps": []string{evil}}}},
			map[string]any{"broke": evil + "\ngoroutine 1", "plan": []any{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := mustAdd(t, l, "<b>1</b>", string(text))
	var b bytes.Buffer
	n.WriteText(&b)
	plain := b.String() + n.Markdown(0) + all(t, l)
	for i, r := range plain {
		if r < ' ' && r != '\n' && r != '\t' || r == '\u202e' {
			t.Fatalf("a character %q in %q", r, plain[max(0, i-40):i+20])
		}
	}
	for _, c := range []string{"<script>", "`", "[a]", "\x1b", "<b>"} {
		if strings.Contains(n.Markdown(0), c) {
			t.Errorf("the summary has %s:\n%s", c, n.Markdown(0))
		}
	}
	p, err := l.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Files() {
		name, text := f.Name, f.Data
		for _, c := range []string{"<script>", "<b>1", "src=", "http:", "https:", "@import", "url("} {
			if name == "index.html" && bytes.Contains(text, []byte(c)) && !(c == "http:" && !bytes.Contains(text, []byte(`"http:`))) {
				t.Errorf("the page has %s", c)
			}
		}
	}
}

// TestSummaryFits checks that a summary is never larger than GitHub shows.
func TestSummaryFits(t *testing.T) {
	n := &Night{Label: "1"}
	for range 20_000 {
		n.New = append(n.New, &Finding{ID: "0123456789ab", Lock: "<<<<<<<<<<<<<<<<<<<<", Property: "p", Assumption: "none"})
	}
	for _, size := range []int64{0, 1 << 19, 1<<20 - 100, 1 << 20, 1 << 30} {
		if text := n.Markdown(size); int64(len(text)) > max(0, 1<<20-size) {
			t.Errorf("%d bytes after %d", len(text), size)
		} else if size == 0 && !strings.Contains(text, "no room here") {
			t.Error("it does not say that something is missing")
		}
	}
}

// TestAtOnce adds by several connections at once. They wait for each other, also while the file is made.
func TestAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.db")
	var wg sync.WaitGroup
	const writers, nights = 4, 5
	for w := range writers {
		wg.Go(func() {
			for n := range nights {
				l, err := Open(context.Background(), file, true)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := add(l, fmt.Sprint(n), line(fmt.Sprint("lock", w), 2, 3)); err != nil {
					t.Error(err)
				}
				l.Close()
			}
		})
	}
	wg.Wait()
	list, err := open(t, file).List(t.Context())
	if err != nil || len(list) != 2*writers {
		t.Fatal(len(list), err)
	}
	for _, f := range list {
		if f.Nights != nights {
			t.Errorf("%s was there on %d nights, not %d", f.ID, f.Nights, nights)
		}
	}
}

// TestOdd opens what is no ledger, and files that cannot be changed.
func TestOdd(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	database := func(name, statement string) string {
		name = filepath.Join(dir, name)
		db, err := sql.Open("sqlite", name)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		return name
	}
	newer := filepath.Join(dir, "newer.db")
	l := open(t, newer)
	if _, err := l.db.Exec("PRAGMA user_version = 7"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ file, want string }{
		{file("text.db", strings.Repeat("not a database\n", 100)), "it is not a ledger, which is an SQLite database"},
		{file("short.db", "x"), "it is not a ledger"},
		{database("other.db", "CREATE TABLE t (x)"), "it is a database of another program"},
		{newer, "its format is 7, and this program knows formats up to 1; use a newer Lockstep"},
		{dir, "a ledger must be a regular file"},
		{filepath.Join(dir, "no", "such.db"), "it cannot be opened; its directory must exist"},
	} {
		if _, err := Open(t.Context(), test.file, true); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, not %s", test.file, err, test.want)
		}
	}
	for name, want := range map[string]string{filepath.Join(dir, "none.db"): "there is no ledger; make it with lockstep ledger add FILE", file("empty.db", ""): "it is empty"} {
		if _, err := Open(t.Context(), name, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", name, err, want)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "a?b#c%20.db"), true); err != nil {
		t.Error(err)
	}
}

// TestFull fills the disk, and checks that nothing is lost. It also writes to a database that is read-only.
func TestFull(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	mustAdd(t, l, "1", line("a", 2))
	was := all(t, l)
	if _, err := l.db.Exec("PRAGMA max_page_count = 1"); err != nil { // as small as it is now
		t.Fatal(err)
	}
	var many []int
	for i := range 300 {
		many = append(many, i+2)
	}
	if _, err := add(l, "2", line("a", many...)); err == nil || !strings.Contains(err.Error(), "the disk is full, and nothing was changed") {
		t.Error(err)
	}
	if now := all(t, l); now != was {
		t.Error("it has changed")
	}
	if _, err := l.db.Exec("PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := add(l, "2", line("a", 3)); err == nil || !strings.Contains(err.Error(), "it is read-only, and nothing was changed") {
		t.Error(err)
	}
	if now := all(t, l); now != was {
		t.Error("it has changed")
	}
}

// TestToReplay checks the order: those that are there, short ones, old ones; then those that are resolved. Closed ones are left out.
func TestToReplay(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	long := strings.ReplaceAll(line("long", 2), `acquire\n\n`, `acquire\n  sleep 1s\n\n`)
	mustAdd(t, l, "1", line("gone", 2)+long)
	mustAdd(t, l, "2", line("gone")+line("b", 2)+line("known", 2))
	mustAdd(t, l, "3", line("a", 2))
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Lock == "known" {
			if _, err := l.CloseFinding(t.Context(), f.ID, "known"); err != nil {
				t.Fatal(err)
			}
		}
	}
	order, err := l.ToReplay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var locks []string
	for _, f := range order {
		locks = append(locks, f.Lock)
	}
	if got := strings.Join(locks, " "); got != "b a long gone" {
		t.Error(got)
	}
}

// TestRecord replays findings by a program that answers as told, and checks what each answer means.
func TestRecord(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "lockstep")
	for i, test := range []struct {
		script string
		want   Outcome
		note   string
	}{
		{`echo '{"verdict":"UNSAFE","violations":[{"property":"lease exclusion","assumption":"none"}]}'`, Fails, ""},
		{`echo '{"verdict":"SAFE","violations":[]}'; exit 1`, Gone, ""},
		{`echo '{"verdict":"UNSAFE","violations":[{"property":"tokens","assumption":"none"}]}'; exit 1`, Gone, ""},
		{`echo '{"verdict":"UNSAFE","violations":[{"property":"lease exclusion","assumption":"bounded pause"}]}'; exit 1`, Gone, "violated for another reason: bounded pause"},
		{`echo '{"verdict":"UNKNOWN","violations":[],"unmet":["a fault had no effect"]}'; exit 2`, Unclear, "a fault had no effect"},
		{`echo '{"does_not_apply":"it cannot extend","violations":[]}'; exit 2`, Unclear, "it cannot extend"},
		{`echo "lockstep: $2:7: unknown lock" >&2; exit 3`, Unclear, ".txtar:7: unknown lock"},
		{`exit 3`, Unclear, "exit status 3"},
		{`echo hello`, Unclear, "it printed no result"},
		{`head -c 50000000 /dev/zero`, Unclear, "it printed no result"},
		{`kill -9 $$`, Unclear, "killed"},
	} {
		l := open(t, filepath.Join(dir, fmt.Sprint(i, ".db")))
		mustAdd(t, l, "1", line("a", 2))
		text := "#!/bin/sh\nif [ $1 = version ]; then echo '[{\"name\":\"a\",\"version\":\"v9\"}]'; exit; fi\n" + test.script + "\n"
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		p, err := FindProgram(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		order, err := l.ToReplay(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []Replayed
		n, err := l.Replay(t.Context(), "2", "", p, order, func() bool { return true }, func(r Replayed) { got = append(got, r) })
		if err != nil || len(got) != 1 || got[0].Outcome != test.want || !strings.Contains(got[0].Note, test.note) {
			t.Errorf("%s: %v %v", test.script, got, err)
			continue
		}
		want := map[Outcome]string{Fails: "0 new, 0 regressed, 1 ongoing, 0 resolved", Gone: "0 new, 0 regressed, 0 ongoing, 1 resolved", Unclear: "0 new, 0 regressed, 0 ongoing, 0 resolved, 1 whose replay proved nothing"}[test.want]
		if n.Counts() != want || n.What() != "replays of a v9" {
			t.Errorf("%s: %s, %s", test.script, n.Counts(), n.What())
		}
	}
	for _, program := range []string{filepath.Join(dir, "none"), "/bin/true"} {
		if _, err := FindProgram(t.Context(), program); err == nil || !strings.Contains(err.Error(), "it must be the program lockstep") {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// A ledger with values that no program of ours writes is refused, in one line that names its file. It may come from the cache of a CI server.
func TestDamaged(t *testing.T) {
	for _, change := range []string{
		"UPDATE findings SET name = '../../evil'",
		"UPDATE findings SET token = 'lk1.a; rm'",
		"UPDATE findings SET state = 'odd'",
		"UPDATE findings SET size = 'abc'",
		"UPDATE findings SET lock = 'nope'",
		"UPDATE sightings SET what = 77",
		"UPDATE sightings SET what = -1",
		"UPDATE visits SET search = '{'",
		"ALTER TABLE findings DROP COLUMN story",
	} {
		file := filepath.Join(t.TempDir(), "l.db")
		l := open(t, file)
		mustAdd(t, l, "1", line("a", 2))
		if _, err := l.db.Exec("PRAGMA foreign_keys = off; " + change); err != nil {
			t.Fatal(err)
		}
		_, err := l.Page(t.Context())
		if err == nil || change == "UPDATE findings SET lock = 'nope'" { // which agrees with the other values until that lock is searched again
			_, err = add(l, "2", line("a", 2))
		}
		if err == nil || !strings.HasPrefix(err.Error(), file+": the ledger is damaged: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", change, err)
		}
	}
}
