package live

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockstep/nodes/redisserver"
)

// ErrNotOurs says that a fault is not injected because the servers are not Lockstep's.
var ErrNotOurs = errors.New("cannot be done to servers that Lockstep has not started")

// Remote is a Redis server that Lockstep has not started. Lockstep only keeps keys in it, all of them under a prefix, and removes
// them.
type Remote struct {
	url     string // with credentials, as ParseRemotes takes it
	options *redis.Options
}

// Remotes are servers in the order in which lock nodes take them.
type Remotes []Remote

// remoteLimit is how long a server may take to answer one command. A lock that waits longer than that waits for somebody's
// network, and the run proves nothing about the lock.
const remoteLimit = 5 * time.Second

// ParseRemotes reads redis://user:password@h1:p1,h2:p2/db?option=value, or several such URLs with commas between them. Everything
// but the hosts is as in [redis.ParseURL] and applies to all hosts. With rediss:// connections are encrypted. If the text has no
// password, the argument is used, unless it is empty.
//
// No error repeats text that may be a password: what stands before an @, after a ?, or in the place of a port.
func ParseRemotes(text, password string) (Remotes, error) {
	var all Remotes
	for _, one := range splitURLs(text) {
		scheme, rest, ok := strings.Cut(one, "://")
		if !ok || scheme != "redis" && scheme != "rediss" {
			return nil, errors.New("servers are named as redis://HOST:PORT,HOST:PORT, or rediss:// for TLS")
		}
		credentials := ""
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			credentials, rest = rest[:at], rest[at+1:]
		}
		user, err := userinfo(credentials, password)
		if err != nil {
			return nil, err
		}
		hosts, tail := rest, ""
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			hosts, tail = rest[:i], rest[i:]
		}
		for host := range strings.SplitSeq(hosts, ",") {
			if host == "" {
				return nil, fmt.Errorf("%s://%s: a host must not be empty", scheme, hosts)
			}
			bare := scheme + "://" + host
			if _, port, ok := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":"); ok && !digits.MatchString(port) { // perhaps a password
				return nil, errors.New("the port of a server must be a number; a user and a password go before an @, as in redis://USER:PASSWORD@HOST:PORT")
			}
			if _, err := redis.ParseURL(bare + tail); err != nil {
				return nil, fmt.Errorf("%s: %w", bare, unwrapURL(err))
			}
			r := Remote{url: scheme + "://" + user + host + tail}
			if r.options, err = redis.ParseURL(r.url); err != nil {
				return nil, fmt.Errorf("%s: %w", bare, errCredentials)
			}
			r.prepare()
			if slices.ContainsFunc(all, func(o Remote) bool { return o.options.Addr == r.options.Addr }) {
				return nil, fmt.Errorf("%s is named twice; each lock node needs a server of its own", r.options.Addr)
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// splitURLs splits at the commas after which another URL begins.
func splitURLs(text string) (all []string) {
	begin := 0
	for i := range text {
		if text[i] == ',' && (strings.HasPrefix(text[i+1:], "redis://") || strings.HasPrefix(text[i+1:], "rediss://")) {
			all = append(all, text[begin:i])
			begin = i + 1
		}
	}
	return append(all, text[begin:])
}

var digits = regexp.MustCompile(`^[0-9]*$`)

var errCredentials = errors.New("the user or the password cannot be read; in a URL, write @ as %40, : as %3A, / as %2F, % as %25 and a comma as %2C")

// userinfo returns credentials as they are written in a URL, with the @.
func userinfo(credentials, password string) (string, error) {
	if strings.ContainsAny(credentials, "@/?#,") {
		return "", errCredentials
	}
	user, own, has := strings.Cut(credentials, ":")
	switch {
	case !has && password != "":
		own = url.QueryEscape(password)
		own = strings.ReplaceAll(own, "+", "%20")
	case credentials == "":
		return "", nil
	}
	return user + ":" + own + "@", nil
}

// unwrapURL removes the URL from an error of package url: the message already has it.
func unwrapURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// prepare sets the options that the URL does not: no command is retried, and no wait exceeds remoteLimit.
func (r *Remote) prepare() {
	o := r.options
	o.Protocol, o.MaxRetries, o.DialerRetries = 2, -1, 1
	o.DisableIdentity, o.ContextTimeoutEnabled = true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DialTimeout = min(cmp.Or(o.DialTimeout, remoteLimit), remoteLimit)
}

// URLs returns the servers as [ParseRemotes] takes them, with their credentials.
func (rs Remotes) URLs() string {
	var all []string
	for _, r := range rs {
		all = append(all, r.url)
	}
	return strings.Join(all, ",")
}

// String names the servers without credentials, as in redis://h1:6379,h2:6379.
func (rs Remotes) String() string {
	var b strings.Builder
	for i, r := range rs {
		scheme, rest, _ := strings.Cut(r.String(), "://")
		switch {
		case i == 0:
			b.WriteString(scheme + "://")
		case scheme == rs[0].scheme() && r.tail() == rs[0].tail():
			b.WriteString(",")
		default:
			b.WriteString(rs[i-1].tail() + "," + scheme + "://")
		}
		b.WriteString(strings.TrimSuffix(rest, r.tail()))
		if i == len(rs)-1 {
			b.WriteString(r.tail())
		}
	}
	return b.String()
}

func (r Remote) scheme() string {
	scheme, _, _ := strings.Cut(r.url, "://")
	return scheme
}

// tail is the part of the URL that names the database, unless it is database 0.
func (r Remote) tail() string {
	if r.options.DB == 0 {
		return ""
	}
	return "/" + strconv.Itoa(r.options.DB)
}

// String names the server without credentials.
func (r Remote) String() string { return r.scheme() + "://" + r.options.Addr + r.tail() }

// dial opens a connection and authenticates on it.
func (r Remote) dial(ctx context.Context) (*duplex, error) {
	conn, err := redis.NewDialer(r.options)(ctx, "tcp", r.options.Addr)
	if err != nil {
		return nil, err
	}
	d := &duplex{Conn: conn, replies: bufio.NewReader(conn), answers: make(chan string, 1)}
	conn.SetDeadline(time.Now().Add(remoteLimit))
	var hello [][]string
	switch o := r.options; {
	case o.Username != "":
		hello = append(hello, []string{"AUTH", o.Username, o.Password})
	case o.Password != "":
		hello = append(hello, []string{"AUTH", o.Password})
	}
	if r.options.DB != 0 {
		hello = append(hello, []string{"SELECT", strconv.Itoa(r.options.DB)})
	}
	for _, cmd := range hello {
		err := proto.Write(conn, cmd)
		reply := ""
		if err == nil {
			reply, err = proto.Read(d.replies)
		}
		if err == nil && reply[0] == '-' {
			err = errors.New(strings.TrimSpace(reply[1:]))
		}
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("%s: %w", cmd[0], err)
		}
	}
	conn.SetDeadline(time.Time{})
	return d, nil
}

// plight describes in one line what is wrong with a server.
func (r Remote) plight(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" && !e.Timeout() {
		err = fmt.Errorf("it cannot be reached: %w", e.Err)
	} else if timeout(err) {
		err = errSlow
	} else if strings.HasPrefix(err.Error(), "NOAUTH") {
		err = errors.New("it requires a password: put it in the URL (redis://USER:PASSWORD@HOST:PORT), or set REDISCLI_AUTH")
	} else if strings.HasPrefix(err.Error(), "redis: ") { // from the parser of go-redis
		err = fmt.Errorf("its answer is not that of a Redis server: %w", err)
	}
	return fmt.Errorf("%s: %w", r, err)
}

// home is the prefix of all keys that Lockstep sets on servers that are not its own.
const home = "lockstep:"

// RunPrefix is the prefix of the keys of one run in a session. No other run uses it.
func RunPrefix(session string, run int) string {
	return fmt.Sprintf("%s%d:", SessionPrefix(session), run)
}

// ours matches the prefix of the keys of a session. Others may have keys that begin with home.
var ours = regexp.MustCompile(`^` + home + `[a-z2-7]{26}:`)

// SessionPrefix is the prefix of the keys of all runs of a session.
func SessionPrefix(session string) string { return home + strings.ToLower(session) + ":" }

// Check says which of the servers cannot be used, and why: one that is out of reach, older than Redis 7, a replica, part of a
// Redis Cluster, or the same as another. The warnings say what may spoil a run.
func (rs Remotes) Check(ctx context.Context) (warnings []string, err error) {
	ids := map[string]Remote{}
	for _, r := range rs {
		c := redis.NewClient(r.options)
		defer c.Close()
		info, err := r.inspect(ctx, c)
		if err != nil {
			return nil, err
		}
		if id := info["run_id"]; id != "" {
			if same, ok := ids[id]; ok {
				return nil, fmt.Errorf("%s and %s are one server; each lock node needs a server of its own", same, r)
			}
			ids[id] = r
		}
		if policy := info["maxmemory_policy"]; info["maxmemory"] != "0" && policy != "" && policy != "noeviction" {
			warnings = append(warnings, fmt.Sprintf("%s may evict keys (maxmemory-policy %s): a run that loses one ends as UNKNOWN", r, policy))
		}
		left, err := scan(ctx, c, home)
		if err != nil {
			return nil, r.plight(err)
		}
		var sessions []string
		for _, key := range left {
			sessions = append(sessions, ours.FindString(key))
		}
		slices.Sort(sessions)
		for _, session := range slices.Compact(sessions) {
			if session != "" {
				warnings = append(warnings, fmt.Sprintf("%s holds keys of Lockstep under %s: a run is in progress, or was killed; if none is in progress, remove the keys: %s",
					r, session, r.removal(session)))
			}
		}
	}
	return warnings, nil
}

// inspect returns the INFO of a server, or says why the server cannot be used.
func (r Remote) inspect(ctx context.Context, c *redis.Client) (info map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, remoteLimit)
	defer cancel()
	conn, err := r.dial(ctx) // as a run does it: go-redis leaves out a user without a password
	if err != nil {
		return nil, r.plight(err)
	}
	conn.Close()
	text, err := c.Info(ctx).Result()
	if err != nil {
		return nil, r.plight(err)
	}
	info = map[string]string{}
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
		return nil, fmt.Errorf("%s does not say which version of Redis it is", r)
	case n < redisserver.Oldest:
		return nil, fmt.Errorf("%s is version %s; Lockstep needs %d or newer", r, version, redisserver.Oldest)
	case info["redis_mode"] == "sentinel":
		return nil, fmt.Errorf("%s is a Sentinel; name the primary that it watches", r)
	case info["redis_mode"] == "cluster" || info["cluster_enabled"] == "1":
		return nil, fmt.Errorf("%s is part of a Redis Cluster; a lock node is a server of its own", r)
	case info["role"] != "master":
		return nil, fmt.Errorf("%s is a replica (role:%s); a lock node is a primary", r, info["role"])
	}
	return info, nil
}

// claim makes sure that no key has the prefix yet.
func (r Remote) claim(ctx context.Context, c *redis.Client, prefix string) error {
	if _, err := r.inspect(ctx, c); err != nil {
		return err
	}
	there, err := scan(ctx, c, prefix)
	if err != nil {
		return r.plight(err)
	}
	if len(there) > 0 {
		return fmt.Errorf("%s has a key %q already, so the prefix of this run is in use; Lockstep does not touch this server", r, there[0])
	}
	return nil
}

// scanLimit is how long it may take to go through all keys of a server.
const scanLimit = time.Minute

// scan lists the keys that begin with a prefix, which is plain text.
func scan(ctx context.Context, c *redis.Client, prefix string) (keys []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	it := c.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for it.Next(ctx) {
		keys = append(keys, it.Val())
	}
	return keys, it.Err()
}

// unlink removes keys.
func unlink(ctx context.Context, c *redis.Client, keys []string) error {
	for some := range slices.Chunk(keys, 1000) {
		if err := c.Unlink(ctx, some...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// removal is a command that removes the keys that a session has left under its prefix, and no others. A key may contain spaces,
// quotes or line ends.
func (r Remote) removal(prefix string) string {
	cli := "redis-cli -u " + r.String()
	return fmt.Sprintf(`%s --scan --pattern '%s*' | grep '^%[2]s' | tr '\n' '\0' | xargs -0 -r %[1]s unlink`, cli, prefix)
}

// LeftKeysError says that keys of a run are still on a server.
type LeftKeysError struct {
	Prefix string
	Server Remote
	Err    error // why
}

// Error ends with a command that removes the keys.
func (e *LeftKeysError) Error() string {
	return fmt.Sprintf("keys under %s may be left on %s (%v); once it can be reached, remove them: %s",
		e.Prefix, e.Server, e.Err, e.Server.removal(e.Prefix))
}

func (e *LeftKeysError) Unwrap() error { return e.Err }

// Sweep removes every key with a prefix, after the run has ended. The error joins a [*LeftKeysError] for each server on which it
// failed.
func (rs Remotes) Sweep(ctx context.Context, prefix string) error {
	var errs []error
	for _, r := range rs {
		c := redis.NewClient(r.options)
		keys, err := scan(ctx, c, prefix)
		if err == nil {
			err = unlink(ctx, c, keys)
		}
		if err != nil {
			errs = append(errs, &LeftKeysError{prefix, r, bare(err)})
		}
		c.Close()
	}
	return errors.Join(errs...)
}

// errSlow replaces all errors about deadlines.
var errSlow = errors.New("it does not answer in time")

// bare removes the name of the server from an error.
func bare(err error) error {
	if timeout(err) {
		return errSlow
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// timeout reports whether an error is about a deadline, of a connection or a context.
func timeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}
