package workers

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// A notebook is a memo. What it is told under a job that it does not want is an error.
type notebook struct {
	mu       sync.Mutex
	known    map[string]Outcome
	unwanted string
}

func (n *notebook) Recall(job json.RawMessage) (Outcome, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o, known := n.known[string(job)]
	return o, known, nil
}

func (n *notebook) Keep(job json.RawMessage, o Outcome) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if string(job) == n.unwanted {
		return errors.New("no room")
	}
	n.known[string(job)] = o
	return nil
}

// A job whose outcome is known is not done again; others are done, and kept. If an outcome cannot be kept, the work ends.
func TestMemo(t *testing.T) {
	t.Parallel()
	memo := &notebook{known: map[string]Outcome{string(job("pid")): {Result: "known"}}}
	s := Supervisor{Command: startTest("TestWorkerProcess"), Limit: 10 * time.Second, Workers: 1, Memo: memo}
	var got []string
	err := s.Run(t.Context(), []json.RawMessage{job("pid"), job("leak")}, func(_ int, o Outcome) { got = append(got, fmt.Sprint(o.Result)) })
	if err != nil || len(got) != 2 || got[0] != "known" {
		t.Errorf("%v, %v", got, err)
	}
	if o := memo.known[string(job("leak"))]; o.Report == nil {
		t.Errorf("the outcome of the other job was not kept: %v", o)
	}

	p, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if o, err := p.Do(t.Context(), job("pid")); o.Result != "known" || err != nil {
		t.Errorf("a pool: %v, %v", o, err)
	}
	delete(memo.known, string(job("pid")))
	if o, err := p.Do(t.Context(), job("pid")); o.Result == "known" || err != nil || memo.known[string(job("pid"))].Result != o.Result {
		t.Errorf("a pool: %v, %v", o, err)
	}

	delete(memo.known, string(job("pid")))
	memo.unwanted = string(job("pid"))
	if err := s.Run(t.Context(), []json.RawMessage{job("pid")}, func(int, Outcome) {}); err == nil || err.Error() != "no room" {
		t.Errorf("an outcome that cannot be kept: %v", err)
	}
}
