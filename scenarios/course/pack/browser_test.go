package pack

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/scenarios/play"
	"lockstep/scenarios/reader"
)

// The answers of the browser lab rely on what its runs show, at the values that the files name.
func TestAnswers(t *testing.T) {
	play.QuietRedis()
	menu, err := reader.NewMenu()
	if err != nil {
		t.Fatal(err)
	}
	questions, err := Questions()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		i := slices.IndexFunc(menu.Claims, func(c reader.Claim) bool { return c.ID == q.Claim })
		if i < 0 {
			t.Errorf("%s: the page has no claim %s", q.Heading, q.Claim)
			continue
		}
		for _, shows := range q.Shows {
			words := strings.Fields(shows)
			j := slices.IndexFunc(menu.Claims[i].Runs, func(r reader.Run) bool { return r.Name == words[0] })
			quantity, _ := strconv.Atoi(words[1])
			if j < 0 || quantity < 1 || quantity > len(menu.Claims[i].Runs[j].Vary) {
				t.Errorf("%s: claim %s has no such run, or no such quantity: %s", q.Heading, q.Claim, shows)
				continue
			}
			run := menu.Claims[i].Runs[j]
			values := make([]string, len(run.Vary))
			values[quantity-1] = words[2]
			a := reader.Play(reader.Request{Claim: q.Claim, Run: run.Name, Values: values, Want: reader.Properties})
			if len(a.Errors) > 0 || string(a.Statuses[run.Property]) != words[3] {
				t.Errorf("%s: %s: %s is %q %v", q.Heading, shows, run.Property, a.Statuses[run.Property], a.Errors)
			}
		}
	}
}
