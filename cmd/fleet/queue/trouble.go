package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// asynq turns errors of the server into text, so they are recognised by their words.
var replies = []struct {
	word    string
	passing bool // it may go by without anybody's change to the command
	says    string
}{
	{"NOAUTH", false, "requires a password: put it in the URL (redis://USER:PASSWORD@HOST:PORT), or set " + PasswordEnv},
	{"running in protected mode", false, "has no password and is in protected mode: set requirepass, and put the password in the URL or in " + PasswordEnv},
	{"without any password configured", false, "has no password: leave it out of the URL, and unset " + PasswordEnv},
	{"WRONGPASS", false, "refuses the user or the password"},
	{"invalid password", false, "refuses the user or the password"},
	{"NOPERM", false, "does not let this user run a command that the queue needs; allow all commands on the keys lockstep:* and asynq:*"},
	{"OOM command not allowed", true, "is full: give it more memory (maxmemory), or forget a search (lockstep fleet forget ID)"},
	{"MISCONF", true, "cannot write to its disk, and accepts no writes"},
	{"READONLY", false, "is a read-only replica; name its primary"},
	{"MOVED ", false, "is part of a Redis Cluster; the queue needs a single server"},
	{"CROSSSLOT", false, "is part of a Redis Cluster; the queue needs a single server"},
	{"CLUSTERDOWN", false, "is part of a Redis Cluster; the queue needs a single server"},
	{"LOADING", true, "is still loading its data"},
	{"BUSY ", true, "is busy with a script"},
	{"MASTERDOWN", false, "is a read-only replica; name its primary"},
	{"unknown command", false, "does not support a Redis command that the queue needs"},
	{"DB index is out of range", false, "has no database with that number; use a lower one"},
	{"does not look like a TLS handshake", false, "does not speak TLS: name it with redis:// instead of rediss://"},
	{"x509:", false, "has a certificate that cannot be verified"},
	{"tls:", false, "refuses the TLS connection"},
	{"can't parse", false, "is not Redis"},
	{"invalid reply", false, "is not Redis"},
	{"WRONGTYPE", false, "has a key that does not belong to Lockstep; use another database (redis://HOST:PORT/1) or server"},
}

// Passing says whether an error of the queue may pass by itself: the server is out of reach, or full.
func Passing(err error) bool {
	e, ok := errors.AsType[*explained](err)
	return ok && passing(e.cause)
}

func passing(err error) bool {
	for _, r := range replies {
		if strings.Contains(err.Error(), r.word) {
			return r.passing
		}
	}
	_, said := errors.AsType[redis.Error](err)
	return !said && !errors.Is(err, context.Canceled)
}

// A Refusal is an error about the server that somebody has to change something about.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

func refusef(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// Explain says in one line what an error of the server means. It never repeats a password.
func (s Server) Explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*Refusal](err); ok {
		return err
	}
	if _, ok := errors.AsType[*explained](err); ok {
		return err
	}
	text := err.Error()
	for _, r := range replies {
		if strings.Contains(text, r.word) {
			said := ""
			switch r.word {
			case "x509:", "tls:", "NOPERM", "unknown command":
				said = ": " + strings.Join(strings.Fields(text), " ")
			}
			return &explained{fmt.Sprintf("%s %s%s", s, r.says, said), err}
		}
	}
	for _, word := range []string{"connection refused", "no such host", "no route to host", "network is unreachable"} {
		if strings.Contains(text, word) {
			return &explained{fmt.Sprintf("%s cannot be reached: %s", s, word), err}
		}
	}
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded), strings.Contains(text, "i/o timeout"):
		text = fmt.Sprintf("%s does not answer within %v", s, answerLimit)
		if s.scheme == "rediss" && !s.known { // Redis without TLS waits for the end of a line
			text += "; if it does not speak TLS, name it with redis:// instead of rediss://"
		}
		return &explained{text, err}
	case strings.HasSuffix(text, "EOF"), strings.Contains(text, "connection reset"), strings.Contains(text, "broken pipe"):
		text = fmt.Sprintf("%s closes the connection", s)
		if !s.known {
			text += "; it must be a Redis server; if it requires TLS, use rediss://; or it has no password and is in protected mode: set requirepass"
		}
		return &explained{text, err}
	}
	return &explained{fmt.Sprintf("%s: %s", s, text), err}
}

// explained is an error in other words.
type explained struct {
	text  string
	cause error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.cause }

// inspect says why a server cannot hold the queue.
func (q *Queue) inspect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if err := q.client.Ping(ctx).Err(); err != nil {
		return q.server.Explain(err)
	}
	text, err := q.client.Info(ctx).Result()
	if err != nil {
		return q.server.Explain(err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil:
		return refusef("%s does not say which version of Redis it is", q.server)
	case n < oldest:
		return refusef("%s is version %s; the queue needs Redis %d or newer", q.server, version, oldest)
	case info["redis_mode"] == "sentinel":
		return refusef("%s is a Sentinel; name the primary that it watches", q.server)
	case info["redis_mode"] == "cluster" || info["cluster_enabled"] == "1":
		return refusef("%s is part of a Redis Cluster; the queue needs a single server", q.server)
	case info["role"] != "master":
		return refusef("%s is a read-only replica; name its primary", q.server)
	}
	if policy := info["maxmemory_policy"]; info["maxmemory"] != "0" && policy != "noeviction" && policy != "" {
		q.Warning = fmt.Sprintf("%s may evict keys when it is full (maxmemory-policy %s): lost shards are played again; set maxmemory-policy to noeviction", q.server, policy)
	}
	return nil
}
