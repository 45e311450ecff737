// Package queue keeps searches that many machines carry out together: which shards they have, who works on which, and what came out.
//
// All of it is in one Redis server, under keys that begin with "lockstep:fleet:". These keys are the truth; see [Queue]. The library
// asynq only carries the news that a shard can be worked on. Its keys begin with "asynq:", and its queues have names of ours.
package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// PasswordEnv is the variable in which redis-cli, too, looks for a password. Unlike a URL it does not show in lists of processes.
const PasswordEnv = "REDISCLI_AUTH"

const (
	// answerLimit is how long the server may take for one command.
	answerLimit = 5 * time.Second
	// transferLimit is how long the answers of a shard may be under way.
	transferLimit = 5 * time.Minute
	// outagePause is the least time between two commands on a connection that does not work. asynq asks again at once.
	outagePause = 200 * time.Millisecond
	// oldest is the first version of Redis whose scripts may do what ours do.
	oldest = 5
)

// A Server names the Redis server that holds the queue.
type Server struct {
	scheme  string
	options *redis.Options
	known   bool // it has answered as a Redis server, so its URL is right
}

// ParseServer reads redis://USER:PASSWORD@HOST:PORT/DB, or rediss:// for TLS, as [redis.ParseURL] does. If the text has no password,
// the argument is used, unless it is empty.
//
// No error repeats what stands before an @, after a ?, or in the place of a port, because that may be a password.
func ParseServer(text, password string) (Server, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "redis" && scheme != "rediss" {
		return Server{}, errors.New("the queue must be named as redis://HOST:PORT, or rediss://HOST:PORT for TLS")
	}
	credentials := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		credentials, rest = rest[:at], rest[at+1:]
	}
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	_, port, has := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	switch _, err := strconv.ParseUint(port, 10, 16); {
	case host == "":
		return Server{}, fmt.Errorf("%s://: the host is missing, as in redis://HOST:PORT", scheme)
	case strings.ContainsRune(host, ','):
		return Server{}, errors.New("the queue must be one server; the URL must not have a comma")
	case has && err != nil: // perhaps a password
		return Server{}, errors.New("the port must be a number; a user and a password go before an @, as in redis://USER:PASSWORD@HOST:PORT")
	}
	if _, err := redis.ParseURL(scheme + "://" + host + tail); err != nil {
		path, _, _ := strings.Cut(tail, "?")
		return Server{}, fmt.Errorf("%s://%s%s: after the host there can only be the number of a database, and options as in go-redis", scheme, host, path)
	}
	user, own, has := strings.Cut(credentials, ":")
	if !has && password != "" {
		own, has = url.PathEscape(password), true
		own = strings.NewReplacer("@", "%40", ":", "%3A", "/", "%2F").Replace(own)
	}
	if has || user != "" {
		credentials = user + ":" + own + "@"
	}
	options, err := redis.ParseURL(scheme + "://" + credentials + host + tail)
	if err != nil || strings.ContainsAny(strings.TrimSuffix(credentials, "@"), "@/?#") {
		return Server{}, fmt.Errorf("%s://%s: the user or the password cannot be read; in a URL, write @ as %%40, : as %%3A, / as %%2F and %% as %%25", scheme, host)
	}
	o := options
	o.Protocol, o.MaxRetries, o.DialerRetries = 2, -1, 1
	o.DisableIdentity, o.ContextTimeoutEnabled = true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DialTimeout = min(cmp.Or(o.DialTimeout, answerLimit), answerLimit)
	o.ReadTimeout, o.WriteTimeout = cmp.Or(o.ReadTimeout, answerLimit), cmp.Or(o.WriteTimeout, answerLimit)
	o.PoolTimeout = answerLimit
	return Server{scheme: scheme, options: options}, nil
}

// String names the server without credentials.
func (s Server) String() string {
	name := s.scheme + "://" + s.options.Addr
	if s.options.DB != 0 {
		name += "/" + strconv.Itoa(s.options.DB)
	}
	return name
}

// paced is a hook that makes a command take some time if the server cannot be reached. Otherwise the loops of asynq, which ask again
// at once, would keep a processor busy during an outage.
type paced struct{}

func (paced) DialHook(next redis.DialHook) redis.DialHook { return next }

func (paced) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		rest(ctx, err)
		return err
	}
}

func (paced) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		rest(ctx, err)
		return err
	}
}

func rest(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) || strings.HasPrefix(err.Error(), "NOSCRIPT") || ctx.Err() != nil {
		return
	}
	if _, ok := errors.AsType[redis.Error](err); ok && !passing(err) {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(outagePause):
	}
}
