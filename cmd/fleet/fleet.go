package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/cmd/fleet/queue"
)

// queueEnv is a variable that names the queue if --queue does not.
const queueEnv = "LOCKSTEP_QUEUE"

const defaultShards = 64

// fleetFlags are the options of the commands of the fleet.
type fleetFlags struct {
	queue    string
	shards   int
	out      string
	lockstep string
}

func newFleet() *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Search on many machines, with a queue in Redis",
		Long: `Fleet splits a search into shards, which workers on any number of machines carry out. The result
is the same, byte for byte, as if one process had carried out the search, and so is the exit
status.

Put "fleet --queue URL" between lockstep and the command that you would run on one machine, and
start "lockstep fleet work --queue URL" on each machine. All need the same build of lockstep.
The queue is a Redis server that all machines can reach.

Everything may be interrupted or killed at any time. What is done is kept: the same command
continues where it stopped. If two people give the same command, they share one search.

Without --queue, the URL is read from the environment variable ` + queueEnv + `. The password can
be given in ` + queue.PasswordEnv + `.`,
		Example: `  lockstep fleet work --queue redis://queue.example:6379
  lockstep fleet --queue redis://queue.example:6379 explore --lock redlock --nodes 5 --bound 2
  lockstep fleet explore --lock redsync --runs 5000000 --queue rediss://queue.example --shards 500
  lockstep fleet status --queue redis://queue.example:6379
  lockstep fleet forget 3f2a90b1c77d --queue redis://queue.example:6379`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	fl := c.PersistentFlags()
	fl.StringVar(&f.queue, "queue", "", "the Redis server at `URL`, such as redis://USER:PASSWORD@HOST:PORT/DB")
	fl.StringVar(&f.lockstep, "lockstep", "", "run the lockstep program at `PATH`\n(default: beside this program, or on the PATH)")
	for _, name := range []string{"explore", "matrix", "run"} {
		c.AddCommand(newSubmit(f, name))
	}
	c.AddCommand(newWork(f), newStatus(f), newForget(f))
	return c
}

// open connects to the queue that the flags name.
func (f *fleetFlags) open(c *cobra.Command) (*queue.Queue, error) {
	text, from := f.queue, "--queue"
	if text == "" {
		text, from = os.Getenv(queueEnv), queueEnv
	}
	if text == "" {
		return nil, errors.New("--queue is missing: name a Redis server that all workers reach, such as --queue redis://HOST:6379")
	}
	s, err := queue.ParseServer(text, os.Getenv(queue.PasswordEnv))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	os.Unsetenv(queue.PasswordEnv) // processes started from here on do not need it
	os.Unsetenv(queueEnv)
	q, err := queue.Open(c.Context(), s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if q.Warning != "" {
		fmt.Fprintln(c.ErrOrStderr(), "lockstep:", q.Warning)
	}
	return q, nil
}

// take takes the options of the fleet out of the arguments of a command. What is left are the arguments of the command itself, in
// their order, and nothing in them has changed.
func (f *fleetFlags) take(args []string) (left []string, help bool, err error) {
	own := map[string]*string{"queue": &f.queue, "out": &f.out, "lockstep": &f.lockstep, "shards": new(string)}
	left = []string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			left = append(left, args[i:]...)
			break
		}
		name, value, has := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		to := own[name]
		switch {
		case arg == "-h" || arg == "--help":
			return nil, true, nil
		case !strings.HasPrefix(arg, "--"):
			left = append(left, arg)
		case name == "shard":
			return nil, false, errors.New("--shard: the fleet itself numbers the shards; --shards says how many there are")
		case name == "workers":
			return nil, false, errors.New("--workers is an option of each worker: lockstep fleet work --workers K")
		case to == nil:
			left = append(left, arg)
		default:
			if !has {
				i++
				if i == len(args) {
					return nil, false, fmt.Errorf("--%s: a value is missing", name)
				}
				value = args[i]
			}
			if value == "" {
				return nil, false, fmt.Errorf("--%s is empty; it must have a value, or be left out", name)
			}
			*to = value
		}
	}
	f.shards = defaultShards
	if text := *own["shards"]; text != "" {
		if _, err := fmt.Sscanf(text+"\n", "%d\n", &f.shards); err != nil || f.shards < 1 || f.shards > queue.MostShards {
			return nil, false, fmt.Errorf("--shards %q: it must be a whole number from 1 to %d", text, queue.MostShards)
		}
	}
	return left, false, checkFiles(left)
}

// checkFiles refuses arguments that name files of this machine: the workers do not have them. Only what lockstep would read counts: a locally built
// program may lie in a file that has the name of a lock.
func checkFiles(args []string) error {
	value := false // the word is perhaps the value of the option before it
	for _, arg := range args {
		files := []string(nil)
		for word := range strings.SplitSeq(arg[strings.IndexByte(arg, '=')+1:], ",") {
			if name, ok := strings.CutPrefix(word, "wasm:"); ok { // a lock
				files = append(files, name)
			}
		}
		if !strings.HasPrefix(arg, "-") {
			name := arg
			if before, _, ok := strings.Cut(arg, ".txtar/"); ok { // FILE/RUN
				name = before + ".txtar"
			}
			// No option has a value that looks like the name of a file and is none.
			if !value || filepath.Ext(name) != "" || strings.ContainsRune(name, '/') {
				files = append(files, name)
			}
		}
		for _, name := range files {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				return fmt.Errorf("%s is a file on this machine, which the workers do not have: a fleet plays only built-in locks and scenarios", name)
			}
		}
		value = strings.HasPrefix(arg, "-") && arg != "--" && !strings.Contains(arg, "=")
	}
	return nil
}
