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

// realDisk models the disk of a real server. It determines which part of the log has reached the disk, by the rules that
// simulated nodes follow (see [engine.Persistence]), because no machine really loses its power here and no disk is slow. After
// the process has ended, the part of its log that would have been lost is cut off.
//
// Times are those of the wall clock of the node, in milliseconds.
type realDisk struct {
	engine.Disk
	server *redisserver.Server
	file   *os.File // the log; nil if no crash loses a part of it
	jumps  []loggedJump
}

// loggedJump is a jump of the clock of a node. To its server it is a change of all keys.
type loggedJump struct {
	by  time.Duration
	end int // the end of the log once it contained the jump
}

// begin notes that a process of the server has started. It returns the sum of the jumps that were cut off with the tail of the
// log.
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

// tail returns what was appended to the log since it was last read.
func (d *realDisk) tail() ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(d.file, int64(d.Len()), 1<<40))
}

// look notes what the process has written by now, and which part of that has reached the disk.
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

// jumped notes a jump that is in the log.
func (d *realDisk) jumped(by time.Duration, at int64) error {
	err := d.look(at)
	d.jumps = append(d.jumps, loggedJump{by, d.Len()})
	return err
}

// crash removes from the disk what is lost when a process ends like this. The process has ended.
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

// close closes the file.
func (d *realDisk) close() {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
}

// kindAt returns the persistence of the server with number i; empty if none was given.
func kindAt(kinds []engine.Persistence, i int) engine.Persistence {
	if i < len(kinds) {
		return kinds[i]
	}
	return ""
}

// extra returns the options for a server with this persistence. If the log is synchronized every second, we decide when: while
// the real disk is busy with an fsync, redis-server would not write the log, and a kill would lose more than the model says.
func extra(k engine.Persistence) []string {
	switch k {
	case "", engine.AOFEverysec, engine.AOFEverysecSlow:
		return nil
	}
	return k.Options()
}

// begin is called when the server of the node has started for the first time.
func (n *realNode) begin() error {
	_, err := n.disk.begin(n.now())
	return err
}

// awaitSecond waits for the next whole second if an fsync depends on it. Simulated time begins at a whole second.
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
