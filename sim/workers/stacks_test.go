package workers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockstep/sim"
)

func TestBlocked(t *testing.T) {
	const head = `goroutine 1 [synctest.Run (durable), synctest bubble 1]:
internal/synctest.Run(0xc000070080)
	GOROOTruntime/synctest.go:218 +0x1e6

goroutine 10 [synctest.Wait (durable), 2 minutes, synctest bubble 1]:
lockstep/sim.(*World).Run(...)
	/src/sim/world.go:95

`
	const waiter = `goroutine 11 [sync.Mutex.Lock, 2 minutes, synctest bubble 1]:
sync.(*Mutex).Lock(...)
	GOROOTsync/mutex.go:46
example.com/lib/v9.(*client).addr(0xc0000140a0)
	/mod/lib/client.go:12 +0x32
created by main.main in goroutine 1
	/src/main.go:48 +0x165

`
	const reads = ` [chan receive (durable), synctest bubble 1]:
lockstep/sim.(*Conn).Read(0xc00001, {0xc00002, 0x64, 0x64})
	/src/sim/conn.go:143 +0x11
`
	for _, test := range []struct{ name, dump, cause, want string }{
		{
			"the same value", waiter +
				"goroutine 12" + reads + "example.com/lib/v9.(*client).addr.func1(0xc0000140a0)\n\t/mod/lib/client.go:20 +0x1\n\n" +
				"goroutine 13" + reads + "example.com/lib/v9.(*client).addr.func1(0xc0000aaaa0)\n\t/mod/lib/client.go:20 +0x1\n\n",
			"a goroutine waits for a mutex that another holds across I/O",
			`goroutine 11 waits for a mutex (sync.Mutex.Lock) in lib/v9.(*client).addr (client.go:12), which never counts as quiet: virtual time stands still
goroutine 12 is inside (*Conn).Read, called from lib/v9.(*client).addr.func1 (client.go:20), and probably holds that mutex: it is in a method of the same value
goroutine 13 is inside (*Conn).Read, called from lib/v9.(*client).addr.func1 (client.go:20)
goroutine 10 is the scheduler: it waits until all other goroutines wait`,
		}, {
			"two of the same type", waiter +
				"goroutine 12" + reads + "example.com/lib/v9.(*client).dial(0xc0000bbbb0?)\n\t/mod/lib/client.go:30 +0x1\n\n" +
				"goroutine 13" + reads + "example.com/lib/v9.(*client).dial(...)\n\t/mod/lib/client.go:30 +0x1\n\n",
			"a goroutine waits for a mutex that another holds across I/O",
			`goroutine 11 waits for a mutex (sync.Mutex.Lock) in lib/v9.(*client).addr (client.go:12), which never counts as quiet: virtual time stands still
goroutine 12 (and 1 more) is inside (*Conn).Read, called from lib/v9.(*client).dial (client.go:30), and may hold that mutex: it is in a method of the same type
goroutine 10 is the scheduler: it waits until all other goroutines wait`,
		}, {
			"a stranger", waiter +
				"goroutine 12" + reads + "example.com/other.read(0xc0000140a0)\n\t/mod/other/x.go:3 +0x1\n\n",
			"a goroutine waits for a mutex",
			`goroutine 11 waits for a mutex (sync.Mutex.Lock) in lib/v9.(*client).addr (client.go:12), which never counts as quiet: virtual time stands still
goroutine 12 is inside (*Conn).Read, called from other.read (x.go:3)
goroutine 10 is the scheduler: it waits until all other goroutines wait`,
		}, {
			"a stack on another thread", "goroutine 14 gp=0xc1 m=3 mp=0xc2 [running, synctest bubble 1]:\n\tgoroutine running on other thread; stack unavailable\ncreated by main.start in goroutine 10\n\t/src/main.go:7 +0x1\n\n",
			"a goroutine computes without waiting",
			`goroutine 14 is running in a function that the dump does not show, started by main.start (main.go:7)
goroutine 10 is the scheduler: it waits until all other goroutines wait`,
		}, {
			"nobody", "", "it is still busy",
			"goroutine 10 is the scheduler: it waits until all other goroutines wait",
		},
	} {
		dump := strings.ReplaceAll(head+test.dump, "GOROOT", goroot())
		if got := strings.Join(Blocked(dump), "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
		if got := diagnose(dump).cause(); got != test.cause {
			t.Errorf("%s: cause %q, want %q", test.name, got, test.cause)
		}
	}
}

// Outside a bubble, a goroutine that only waits in a library is not reported, but one that runs is: the run may be waiting for it.
func TestBlockedOutsideABubble(t *testing.T) {
	dump := strings.ReplaceAll(`goroutine 1 [running]:
strings.Repeat(...)
	GOROOTstrings/strings.go:600 +0x1

goroutine 2 [select]:
net/http.(*persistConn).readLoop(0xc000070080)
	GOROOTnet/http/transport.go:2200 +0x1

`, "GOROOT", goroot())
	if got := Blocked(dump); len(got) != 1 || !strings.HasPrefix(got[0], "goroutine 1 is running") {
		t.Errorf("%q", got)
	}
}

func TestStuckIsCertain(t *testing.T) {
	const waiter = "goroutine 11 [sync.Mutex.Lock, synctest bubble 1]:\nmain.get()\n\t/src/main.go:1 +0x1\n\n"
	for _, test := range []struct {
		dump string
		want bool
	}{
		{waiter, true},
		{waiter + "goroutine 12 [sleep (durable), synctest bubble 1]:\nmain.get()\n\t/src/main.go:2 +0x1\n", true},
		{waiter + "goroutine 12 [IO wait]:\nlockstep/sim/workers.(*worker).listen()\n\t/src/sim/worker.go:2 +0x1\n", true},
		{waiter + "goroutine 12 [runnable, synctest bubble 1]:\nmain.get()\n\t/src/main.go:2 +0x1\n", false},
		{waiter + "goroutine 12 [runnable]:\nmain.get()\n\t/src/main.go:2 +0x1\n", false},
		{waiter + "goroutine 12 [syscall, synctest bubble 1]:\nmain.get()\n\t/src/main.go:2 +0x1\n", false},
		{waiter + "goroutine 12 [IO wait]:\nmain.get()\n\t/src/main.go:2 +0x1\n", false},
		{"goroutine 12 [chan receive (durable), synctest bubble 1]:\nmain.get()\n\t/src/main.go:2 +0x1\n", false},
		{"goroutine 12 [sync.Mutex.Lock]:\nmain.get()\n\t/src/main.go:2 +0x1\n", false},
	} {
		if got := diagnose(test.dump).stuck(); got != test.want {
			t.Errorf("stuck %v, want %v:\n%s", got, test.want, test.dump)
		}
	}
	for dump, want := range map[string]bool{
		waiter + "goroutine 12 [IO wait]:\nmain.get()\n\t/src/main.go:2 +0x1\n":                          true,
		waiter + "goroutine 12 [runnable, synctest bubble 1]:\nmain.get()\n\t/src/main.go:2 +0x1\n":      false,
		"goroutine 12 [chan receive, synctest bubble 1]:\nmain.get()\n\t/src/main.go:2 +0x1\n":           false,
		"goroutine 12 [chan receive (durable), synctest bubble 1]:\nmain.get()\n\t/src/main.go:2 +0x1\n": false,
	} {
		if got := Overdue(time.Second, dump).Mutex; got != want {
			t.Errorf("after a second, Mutex is %v, want %v:\n%s", got, want, dump)
		}
	}
}

// What is left when a run is over is summarized in the same way as what a run waits for.
func TestBlockedNamesWhatWasLeft(t *testing.T) {
	err := sim.Bubble(func() { go left(make(chan int)) })
	leak, ok := errors.AsType[*sim.LeakError](err)
	if !ok {
		t.Fatal(err)
	}
	if blocked := Blocked(leak.Stacks); len(blocked) != 1 || !strings.Contains(blocked[0], "workers.left") {
		t.Errorf("blocked: %q", blocked)
	}
}

func left(c chan int) { <-c }

// A lock that asks package net for a host name breaks its process, in a goroutine that is not its own. The report shows the lock's.
func TestDumpOfOwnConnection(t *testing.T) {
	dump := strings.ReplaceAll(`fatal error: send on synctest channel from outside bubble

goroutine 130 [running, synctest bubble 2]:
net.(*resolverConfig).tryAcquireSema(...)
	GOROOTnet/dnsclient_unix.go:430
created by internal/singleflight.(*Group).DoChan in goroutine 128
	GOROOTinternal/singleflight/singleflight.go:86 +0x2ce

goroutine 128 [select, synctest bubble 2]:
net.(*Resolver).lookupIPAddr(0x1)
	GOROOTnet/lookup.go:343 +0x1
net.Dial(0x1)
	GOROOTnet/dial.go:472 +0x1
example.com/shop.lock.Acquire(0x1)
	/shop/lock.go:48 +0x1
lockstep/clients.(*Worker).acquire(0x1)
	/src/clients/worker.go:150 +0x1

`, "GOROOT", goroot())
	const want = ownConnection + ` (fatal error: send on synctest channel from outside bubble)
    goroutine 128 [select]:
      net.Dial
        GOROOTnet/dial.go:472
      example.com/shop.lock.Acquire
        /shop/lock.go:48
      ...
    (1 more goroutines)
`
	if got := died("exit status 2", dump).bounded().String(); got != strings.ReplaceAll(want, "GOROOT", goroot()) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
