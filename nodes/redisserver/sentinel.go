package redisserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// NewSentinel returns a Sentinel that [StartSentinels] can start. Its directory is created in under.
func NewSentinel(ctx context.Context, under string) (*Server, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(under, "lockstep-redis-")
	if err != nil {
		return nil, err
	}
	s := &Server{ctx: ctx, path: path, dir: dir, sentinel: filepath.Join(dir, "sentinel.conf")}
	s.untie = context.AfterFunc(ctx, s.end)
	return s, nil
}

// SetSentinel overwrites the configuration file of a Sentinel. A running Sentinel rewrites this file too, with what it finds out.
func (s *Server) SetSentinel(conf string) error {
	return os.WriteFile(s.sentinel, []byte(conf), 0o600)
}

// StartSentinels starts all Sentinels at once, each with its configuration file. While a Sentinel is starting, its [Server.Addr]
// waits.
func StartSentinels(sentinels []*Server, confs []string) error {
	errs := make([]error, len(sentinels))
	var all sync.WaitGroup
	for _, s := range sentinels {
		s.mu.Lock()
	}
	for i, s := range sentinels {
		all.Go(func() {
			defer s.mu.Unlock()
			if errs[i] = s.SetSentinel(confs[i]); errs[i] == nil {
				errs[i] = s.start()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
