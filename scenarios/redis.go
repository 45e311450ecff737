package scenarios

import (
	"context"
	"errors"

	"lockstep/clients"
)

// OnRedis puts a lock through a run of the scenario on redis-server processes that it starts and stops.
func OnRedis(ctx context.Context, s *Scenario, run Run, build clients.New, seed uint64, speed float64) (*Outcome, error) {
	return nil, errors.New("scenarios: real Redis is not there yet")
}
