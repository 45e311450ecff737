package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// A Search is a command that is carried out in shards. Two searches with the same ID are the same: they share their shards.
type Search struct {
	Build   string   `json:"build"`   // identifies the program; another build may have other results
	Command []string `json:"command"` // explore, run or matrix, with its arguments
	Of      int      `json:"of"`      // the number of shards
}

// digest returns the beginning of a hash of some values.
func digest(length int, values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("queue: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:length]
}

// ID identifies the search.
func (s Search) ID() string { return digest(12, s.Build, s.words(), s.Of) }

// words are the words of the command, where --lock=single is --lock single. Which options take a value is not known here, so this would
// not tell --json=false from --json with a scenario named false; there is none.
func (s Search) words() []string {
	var all []string
	for i, arg := range s.Command {
		if arg == "--" {
			return append(all, s.Command[i:]...)
		}
		name, value, has := strings.Cut(arg, "=")
		if has && strings.HasPrefix(arg, "--") {
			all = append(all, name, value)
		} else {
			all = append(all, arg)
		}
	}
	return all
}

// String is the command as it was typed.
func (s Search) String() string { return strings.Join(s.Command, " ") }

// task is the id of a task of asynq that stands for a shard. A shard has a new task, of the next generation, each time that the old
// one may be lost. So a shard can be given out again while asynq still believes that somebody works on it.
func (s Search) task(shard int, generation int64) string {
	return fmt.Sprintf("%s-%d", digest(32, s.Build, s.words(), shard, s.Of), generation)
}

// QueueOf is the name of the queue of asynq for the shards of one build. Each build has a queue of its own: so workers never get shards
// that they would have to refuse.
func QueueOf(build string) string { return "lockstep-" + digest(16, build) }

// ShortBuild is enough of a build to tell it from others.
func ShortBuild(build string) string {
	if len(build) > 19 {
		return build[:19]
	}
	return build
}
