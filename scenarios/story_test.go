package scenarios

import (
	"slices"
	"strings"
	"testing"

	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/scenarios/catalogue"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A story tells what a violation came from: the fault, the message that was lost or late, or the request that was never sent.
func TestStoriesTellTheCause(t *testing.T) {
	play.QuietRedis()
	const (
		paused = "client c1\n  acquire\n  until 6s\n  write A\nclient c2\n  until 8s\n  acquire within 10s\nnemesis\n  at 5s pause resource 10s\n"
		late   = "client c1\n  acquire\n  sleep 8s\n  read\n  write A\nclient c2\n  until 1s\n  acquire within 20s\nnemesis\n  on reply read resource->c1 delay 3s\n"
		lost   = "client c1\n  increment\n  increment\nclient c2\n  until 2s\n  increment\nnemesis\n  at 1s crash resource\n  at 1500ms restart resource empty\n"
	)
	for _, test := range []struct {
		page, run string
		want      []string // the beginnings of sentences
	}{
		{paused, "single nodes=1", []string{"From 5.000s to 15.000s the resource was paused."}},
		{late, "single nodes=1", []string{"A message that the resource had sent to c1 at 8.008s arrived only at 11.009s.",
			"From 0.000s on the next read reply from resource to c1 was to be delayed by 3s."}},
		{lost, "single nodes=1 resource=counter", []string{
			"The resource crashed at 1.000s and came back at 1.500s without the number: its disk was empty.",
			"The environment broke the assumption that the resource keeps what it has accepted."}},
		{"holder-cut-off", "rueidislock nodes=1", []string{"From 3.000s to ", "The key of c1#1 expired on n1 at 10.007s, since no renewal had come in time."}},
		{"retried-set", "single nodes=1", []string{"The connections of c1 and n1 broke at 0.004s.",
			"The key of c1#1 was set on n1 at 0.004s, but c1 never had the lease: the reply was lost at 0.004s."}},
		{"retried-set", "single-retries nodes=1", []string{"At 0.025s the same request of c1 arrived at n1 again, found the key, and was refused."}},
		{"release-cancelled", "redlock nodes=3", []string{"c1 asked for the release of c1#1 at 0.009s, but no request was sent, because its context had been canceled"}},
	} {
		page := "# A page.\n\n" + test.page
		if !strings.Contains(test.page, "\n") { // the lanes and the faults of a page of the catalogue
			data, err := catalogue.Files.ReadFile(test.page + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			page, _, _ = strings.Cut(string(data), "\n-- ")
		}
		s, err := script.Parse("page.txtar", []byte(page+"\n-- "+test.run+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		o := simulated(t, s, s.Runs[0], 1)
		if len(o.Result.Violations) == 0 {
			t.Errorf("%s: nothing is violated", test.run)
		}
		for _, v := range o.Result.Violations {
			told := explain.Story(facts.Of(o.History), v)
			checkExplanation(t, o.History, v, told)
			for _, want := range test.want {
				if !slices.ContainsFunc(told, func(s explain.Sentence) bool { return strings.HasPrefix(s.Text, want) }) {
					t.Errorf("%s: %q is not told of %s:\n%v", test.run, want, v.Property, told)
				}
			}
		}
	}
}
