package scenarios

import (
	"os"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/reports"
)

func TestCatalogue(t *testing.T) {
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, r := range s.Runs {
			t.Run(s.Name+"/"+r.ID(), func(t *testing.T) {
				build, err := clients.Find(r.Lock)
				if err != nil {
					t.Fatal(err)
				}
				o, err := Simulate(s, r, build, 1)
				if err != nil {
					t.Fatal(err)
				}
				if d := o.Unexpected(); len(d) > 0 || len(o.Result.Unmet) > 0 {
					var b strings.Builder
					reports.Text(&b, o.History, o.Result, reports.TextOptions{})
					t.Errorf("%v %v\n%s", d, o.Result.Unmet, b.String())
				}
				_ = os.Stdout
			})
		}
	}
}
