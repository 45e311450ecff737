package reader

import (
	"fmt"
	"testing"
)

func TestX(t *testing.T) {
	m, err := NewMenu()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Claims {
		for _, r := range c.Runs {
			a := Play(Request{Claim: c.ID, Run: r.Name, Brief: true})
			if len(a.Errors) > 0 {
				t.Errorf("%s %s: %v", c.ID, r.Name, a.Errors)
				continue
			}
			fmt.Printf("%s %s %s: %s %s %v\n", c.ID, r.Name, r.Property, a.Statuses[r.Property], a.Checksum[:6], a.Unmet)
			for i, q := range r.Vary {
				strip := ""
				for n, v := range q.Values {
					values := make([]string, len(r.Vary))
					values[i] = v
					a := Play(Request{Claim: c.ID, Run: r.Name, Brief: true, Values: values})
					if len(a.Errors) > 0 {
						t.Errorf("%s %s: %v", c.ID, r.Name, a.Errors)
						break
					}
					x := map[string]string{"ok": ".", "violated": "X", "unknown": "?"}[string(a.Statuses[r.Property])]
					if n == q.Own {
						x = "[" + x + "]"
					}
					strip += x
				}
				fmt.Printf("      %-60s %s..%s %s\n", q.What, q.Values[0], q.Values[len(q.Values)-1], strip)
			}
		}
	}
}
