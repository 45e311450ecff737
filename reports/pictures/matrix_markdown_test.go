package pictures

import (
	"strings"
	"testing"
)

func TestMatrixMarkdown(t *testing.T) {
	var b strings.Builder
	if err := handmade().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"`lockstep matrix --seeds 5`\n\n| | plain | shipped<br>v1.2.3 | shipped-fail-fast<br>v1.2.3 |\n|---|---|---|---|\n| **pauses** | | | |\n",
		"| A pause outlives the lease `pause` | UNSAFE P 5/5 | **▼ UNSAFE P— 3/5** | n/a |\n| … on 5 nodes | n/a | SAFE | n/a |\n",
		"it being in time `late` … short | n/a | ▲ SAFE ~ | n/a |\n",
		"- **shipped**, pause/plain: owner only violated, its own fault: c1 deleted the key of c2#1 \\| on n1  \n  `lockstep run pause/plain --lock shipped --seed 1 -v`\n",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("got\n%s\nwithout\n%s", b.String(), part)
		}
	}
}

// Text of scenarios and locks is shown, and never taken for markup.
func TestMatrixMarkdownEscapes(t *testing.T) {
	m := handmade()
	row := &m.Groups[1].Rows[0]
	row.Scenario, row.Title = "a`|<b>", "<img src=x onerror=alert(1)> [here](javascript:alert(1)) `<b>|` *bold* &lt; | $x$."
	m.Groups[1].Rows[1].Cells[1].Why = "<script>alert(1)</script> [x](javascript:1)"
	m.Groups[1].Rows[1].Variant = "one ` and <i>"
	m.Groups[1].Rows[1].Cells[1].Command = "lockstep run 'a`b`` <i>'"
	m.Command = "lockstep matrix '`<i>`'"
	var b strings.Builder
	if err := m.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"`` lockstep matrix '`<i>`' ``\n",
		`| \<img src=x onerror=alert(1)\> \[here\](javascript:alert(1)) ` + "`<b>\\|`" + ` \*bold\* \&lt; \| \$x\$ ` + "`` a`\\|<b> `` … short |",
		`\<script\>alert(1)\</script\> \[x\](javascript:1)`,
		"one \\` and \\<i\\>",
		"``` lockstep run 'a`b`` <i>' ```\n",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("got\n%s\nwithout\n%s", b.String(), part)
		}
	}
}
