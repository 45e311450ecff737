package live

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
)

// realDisk is the disk of a real server. What the process has appended to its log is on it by the rules that the nodes of a
// simulation follow (see [engine.Persistence]): no machine loses its power here, and no disk is slow. The process is killed, or has
// ended, and then the tail of its log is cut off that would not have been there.
//
// Times are of the wall clock of the node, in milliseconds.
type realDisk struct {
	engine.Disk
	server *redisserver.Server
	file   *os.File // the log; nil where no crash takes a part of it
	jumps  []loggedJump
}

// loggedJump is a jump of the clock of a node, which to its server is a change of all keys.
type loggedJump struct {
	by  time.Duration
	end int // of the log that has it
}

// begin notes that a process of the server has started. It returns the jumps that were cut off with the tail of the log.
func (d *realDisk) begin(at int64) (lost time.Duration, err error) {
	d.Begin(nil, at)
	if !d.Cuts() {
		return 0, nil
	}
	logs, err := filepath.Glob(filepath.Join(d.server.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil {
		return 0, err
	}
	if len(logs) != 1 {
		return 0, fmt.Errorf("redis-server has %d logs, %q; a tail can be cut off of one", len(logs), logs)
	}
	if d.file, err = os.Open(logs[0]); err != nil {
		return 0, err
	}
	log, err := d.tail()
	if err != nil {
		return 0, err
	}
	d.Begin(log, at)
	kept := d.jumps[:0]
	for _, j := range d.jumps {
		if j.end > d.Len() {
			lost += j.by
			continue
		}
		kept = append(kept, j)
	}
	d.jumps = kept
	return lost, nil
}

// tail is what the log has become longer by.
func (d *realDisk) tail() ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(d.file, int64(d.Len()), 1<<40))
}

// look notes what the process has written by now, and what has reached the disk.
func (d *realDisk) look(at int64) error {
	if d.file == nil {
		return nil
	}
	tail, err := d.tail()
	if err != nil {
		return err
	}
	d.Append(tail, at)
	return nil
}

// jumped notes a jump that the log has.
func (d *realDisk) jumped(by time.Duration, at int64) error {
	err := d.look(at)
	d.jumps = append(d.jumps, loggedJump{by, d.Len()})
	return err
}

// crash takes from the disk what the end of the process, which has come, takes with it.
func (d *realDisk) crash(how engine.Exit, at int64) error {
	if d.file == nil {
		return nil
	}
	name := d.file.Name()
	err := d.look(at)
	d.file.Close()
	d.file = nil
	if err != nil {
		return err
	}
	if left, everything := d.End(how); !everything {
		return os.Truncate(name, int64(len(left)))
	}
	return nil
}

// close frees what is open.
func (d *realDisk) close() {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
}

// kindAt is the one of the server with a number; empty if that was left out.
func kindAt(kinds []engine.Persistence, i int) engine.Persistence {
	if i < len(kinds) {
		return kinds[i]
	}
	return ""
}

// extra is what a server that persists so is started with. One that has its log synchronized every second leaves that to us:
// while the disk of this machine is at work on an fsync, redis-server would not write the log either, and a kill would take
// more than on a disk that is not slow, or that is as slow as we say.
func extra(k engine.Persistence) []string {
	switch k {
	case "", engine.AOFEverysec, engine.AOFEverysecSlow:
		return nil
	}
	return k.Options()
}

// begin notes that the server of the node has started for the first time.
func (n *realNode) begin() error {
	_, err := n.disk.begin(n.now())
	return err
}

// awaitSecond waits for the next whole second where an fsync depends on it. There time begins as in simulation.
func (c *Cluster) awaitSecond() {
	c.mu.Lock()
	secondly := false
	for _, p := range c.processes {
		if n := p.node(); n != nil && n.disk.Everysec() {
			secondly = true
		}
	}
	c.mu.Unlock()
	if secondly {
		c.RunFor(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
}
