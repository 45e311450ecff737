package redisserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// ErrNoServer says that there is no redis-server to start.
var ErrNoServer = errors.New("redis-server is not on the PATH; install it (Debian: apt-get install redis-server) or stay in simulation")

// Oldest is the first version of redis-server that has PEXPIRETIME, and logs deadlines as absolute times.
const Oldest = 7

// Find returns nil if a redis-server can be started. Otherwise the error says why not: [ErrNoServer], a server that is too old, or
// no place for its files.
func Find() error {
	if _, err := Path(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lockstep-")
	if err != nil {
		return fmt.Errorf("there is no place for the files of redis-server: %w; set TMPDIR to a writable directory", err)
	}
	return os.Remove(dir)
}

var versionOf = regexp.MustCompile(`v=((\d+)[0-9.]*)`)

// Path returns the path of redis-server. The error is [ErrNoServer] if there is none; a version older than [Oldest] is another
// error.
func Path() (path string, err error) {
	if path, err = exec.LookPath("redis-server"); err != nil {
		return "", ErrNoServer
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	v := versionOf.FindSubmatch(out)
	if v == nil {
		return "", fmt.Errorf("%s --version does not say its version: %q", path, bytes.TrimSpace(out))
	}
	if major, _ := strconv.Atoi(string(v[2])); major < Oldest {
		return "", fmt.Errorf("%s is version %s; Lockstep needs %d or newer", path, v[1], Oldest)
	}
	return path, nil
}
