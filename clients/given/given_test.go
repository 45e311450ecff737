package given_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"lockstep/clients"
	"lockstep/clients/given"
)

type noLease struct{ clients.Lease }

// Retry says what an attempt must return, and does not call another error a refusal.
func TestRetry(t *testing.T) {
	nodes := given.NewNodes(clients.Env{Clock: clockwork.NewFakeClock(), Rand: rand.New(rand.NewPCG(1, 1))})
	for _, c := range []struct {
		name    string
		lease   clients.Lease
		err     error
		refused bool
		want    string
	}{
		{"a refusal", nil, clients.ErrNotAcquired, true, ""},
		{"another error", nil, errors.New("EOF"), false, "attempt returned an error that is not clients.ErrNotAcquired: EOF"},
		{"a lease with an error", noLease{}, clients.ErrNotAcquired, false, "attempt returned a lease with the error lock not acquired"},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		lease, err := nodes.Retry(ctx, func() (clients.Lease, error) {
			cancel()
			return c.lease, c.err
		})
		if lease != nil || errors.Is(err, clients.ErrNotAcquired) != c.refused || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.name, lease, err, c.want)
		}
	}
	lease, err := nodes.Retry(context.Background(), func() (clients.Lease, error) { return noLease{}, nil })
	if lease == nil || err != nil {
		t.Errorf("a lease: %v, %v", lease, err)
	}
}
