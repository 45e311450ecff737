package engine

import "strings"

func runPing(r *Redis, s *Session, _ *command, args []string) {
	switch {
	case len(args) > 2:
		r.out.Fail("ERR wrong number of arguments for 'ping' command")
	case !s.resp3() && r.pubsub.count(s) > 0: // the reply has the form of a message
		r.out.Array(2)
		r.out.Bulk("pong")
		r.out.Bulk(strings.Join(args[1:], ""))
	case len(args) == 2:
		r.out.Bulk(args[1])
	default:
		r.out.Status("PONG")
	}
}

// runSelect accepts one database, as redis-server with "databases 1" and every Redis Cluster do.
func runSelect(r *Redis, _ *Session, _ *command, args []string) {
	n, ok := parseInt(args[1])
	switch {
	case !ok:
		r.out.Fail(notInteger)
	case r.clustered && n != 0 && n == int64(int32(n)):
		r.out.Fail("ERR SELECT is not allowed in cluster mode")
	case n != int64(int32(n)):
		r.out.Fail("ERR value is out of range, value must between -2147483648 and 2147483647")
	case n != 0:
		r.out.Fail("ERR DB index is out of range")
	default:
		r.out.Status("OK")
	}
}

const wrongPass = "WRONGPASS invalid username-password pair or user is disabled."

// runAuth accepts the only user of a server without passwords: default, with any password.
func runAuth(r *Redis, _ *Session, _ *command, args []string) {
	switch {
	case len(args) > 3:
		r.out.Fail(syntax)
	case len(args) == 2:
		r.out.Fail("ERR AUTH <password> called without any password configured for the default user. " +
			"Are you sure your configuration is correct?")
	case args[1] != "default":
		r.out.Fail(wrongPass)
	default:
		r.out.Status("OK")
	}
}

func runHello(r *Redis, s *Session, _ *command, args []string) {
	resp3 := s.peer.Resp3
	if len(args) > 1 {
		version, ok := parseInt(args[1])
		switch {
		case !ok:
			r.out.Fail("ERR Protocol version is not an integer or out of range")
			return
		case version != 2 && version != 3:
			r.out.Fail("NOPROTO unsupported protocol version")
			return
		}
		resp3 = version == 3
	}
	name := s.name
	for i := 2; i < len(args); i++ {
		switch left := len(args) - i - 1; {
		case strings.EqualFold(args[i], "AUTH") && left >= 2:
			if args[i+1] != "default" {
				r.out.Fail(wrongPass)
				return
			}
			i += 2
		case strings.EqualFold(args[i], "SETNAME") && left >= 1:
			if name = args[i+1]; !validName(name) {
				r.out.Fail(badName)
				return
			}
			i++
		default:
			r.out.Fail("ERR Syntax error in HELLO option '" + args[i] + "'")
			return
		}
	}
	s.peer.Resp3, s.name = resp3, name

	r.out.dict(7, resp3)
	r.out.Bulk("server")
	r.out.Bulk("redis")
	r.out.Bulk("version")
	r.out.Bulk("7.0.15")
	r.out.Bulk("proto")
	if resp3 {
		r.out.Integer(3)
	} else {
		r.out.Integer(2)
	}
	r.out.Bulk("id")
	r.out.Integer(s.id)
	r.out.Bulk("mode")
	r.out.Bulk(r.mode())
	r.out.Bulk("role")
	if r.primary != "" {
		r.out.Bulk("replica")
	} else {
		r.out.Bulk("master")
	}
	r.out.Bulk("modules")
	r.out.Array(0)
}

func (r *Redis) mode() string {
	if r.clustered {
		return "cluster"
	}
	return "standalone"
}

func runQuit(r *Redis, s *Session, _ *command, _ []string) {
	r.out.Status("OK")
	s.Close()
}

// runCluster tells a client that the server is not part of a cluster. For a node of a cluster the reply comes from
// shards_answers.go in package nodes.
func runCluster(r *Redis, _ *Session, _ *command, args []string) {
	if r.clustered {
		r.out.Fail(notSimulated("CLUSTER " + strings.ToUpper(args[1])))
		return
	}
	r.out.Fail("ERR This instance has cluster support disabled")
}

func runClientID(r *Redis, s *Session, _ *command, _ []string) { r.out.Integer(s.id) }

func runClientGetName(r *Redis, s *Session, _ *command, _ []string) {
	if s.name == "" {
		r.out.null(s.peer.Resp3)
		return
	}
	r.out.Bulk(s.name)
}

const badName = "ERR Client names cannot contain spaces, newlines or special characters."

func runClientSetName(r *Redis, s *Session, _ *command, args []string) {
	if !validName(args[2]) {
		r.out.Fail(badName)
		return
	}
	s.name = args[2]
	r.out.Status("OK")
}

func validName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return c < '!' || c > '~' })
}
