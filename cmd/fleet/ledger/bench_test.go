package ledger

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var large = flag.Bool("large", false, "measure a ledger of 10,000 findings and 100 nights")

// TestLarge measures the size of a ledger, and the time that an add takes. Run it with
//
//	go test -run Large -v . -large
//
// Its findings have pages as long as those that explore prints, of 4 kB. There are 20 locks with five workloads each, and every night finds
// all findings.
func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("takes minutes; see -large")
	}
	file := filepath.Join(t.TempDir(), "l.db")
	l := open(t, file)
	const locks, stories, nights = 20, 500, 100
	story := strings.Repeat("# "+strings.Repeat("c1 was granted c1#1 at 0.006s, ", 3)+`\n`, 10)
	timeline := strings.Repeat(`   0.000s  c1       invoke  acquire         c1#1, and more words\n`, 40)
	night := func(stories int) string {
		var b strings.Builder
		for lock := range locks {
			text := line(fmt.Sprint("lock", lock), slices.Repeat([]int{4}, stories)...)
			text = strings.ReplaceAll(text, `# A story.\n`, story)
			for i := range stories { // each with another proof
				text = strings.Replace(text, `   0.000s  c1       invoke  acquire\n`, fmt.Sprintf(`!  0.000s  n1       step%d\n`, i)+timeline, 1)
			}
			b.WriteString(text)
			for _, w := range []string{"again", "late", "beyond", "resize"} {
				b.WriteString(strings.Replace(line(fmt.Sprint("lock", lock)), `"once"`, `"`+w+`"`, 1))
			}
		}
		return b.String()
	}
	whole := night(stories)
	t.Logf("a night has %d MB of JSON", len(whole)>>20)
	for n := range nights {
		start := time.Now()
		mustAdd(t, l, fmt.Sprintf("2026-%03d", n), whole)
		if n == 0 || n == 1 || n == nights-1 {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("night %d: %.2fs, %.1f MB", n+1, time.Since(start).Seconds(), float64(info.Size())/1e6)
		}
	}
	half := night(stories / 2)
	start := time.Now()
	if n := mustAdd(t, l, "half", half); len(n.Silent) != locks*stories/2 {
		t.Error(n.Counts()) // another story about the same property hides them
	}
	t.Logf("half a night: %.2fs", time.Since(start).Seconds())
	start = time.Now()
	if n := mustAdd(t, l, "none", night(0)); len(n.Resolved) != locks*stories {
		t.Error(n.Counts())
	}
	t.Logf("a night without findings: %.2fs", time.Since(start).Seconds())
	start = time.Now()
	if _, err := l.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("list: %.2fs", time.Since(start).Seconds())
	start = time.Now()
	p, err := l.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("page: %.2fs, %.1f MB", time.Since(start).Seconds(), float64(len(p.index))/1e6)
}
