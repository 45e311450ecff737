package redistest

import (
	"bufio"
	"context"
	"net"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// A Host is a client, simulated or real.
type Host interface {
	Go(f func(ctx context.Context))
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	Doing(op string, id int, lock string)
	Until(t time.Duration)
}

// Talk has two clients send the commands of some lines to their nodes, one after the other, and returns when wait does. A line has
// the name of a client, a name for its operation, and a command, with _ for spaces in its arguments; or the name of a client and a
// time until which it waits.
func Talk(c1, c2 Host, addrs map[Host]string, wait func(), lines string) {
	var steps [][]string
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		steps = append(steps, strings.Fields(line))
	}
	turns := map[string]chan int{"c1": make(chan int, 1), "c2": make(chan int, 1)}
	next := func(i int) {
		if i < len(steps) {
			turns[steps[i][0]] <- i
			return
		}
		close(turns["c1"])
		close(turns["c2"])
	}
	next(0)
	for name, h := range map[string]Host{"c1": c1, "c2": c2} {
		h.Go(func(ctx context.Context) {
			conn, err := h.DialContext(ctx, "tcp", addrs[h])
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			replies := bufio.NewReader(conn)
			for i := range turns[name] {
				words := steps[i][1:]
				if t, err := time.ParseDuration(words[0]); err == nil {
					h.Until(t)
					next(i + 1)
					continue
				}
				h.Doing("acquire", len(words[0]), "")
				for j, w := range words {
					words[j] = strings.ReplaceAll(w, "_", " ")
				}
				conn.Write(AppendCommand(nil, words[1:]...))
				if _, err := proto.Read(replies); err != nil {
					panic(err)
				}
				next(i + 1)
			}
		})
	}
	wait()
}
