package live

import (
	"maps"
	"testing"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/internal/redistest"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t, t.Context())
	c := redistest.Dial(t, s.Addr())
	redistest.Expect(t, c, "HSET h f 1", ":1")
	redistest.Expect(t, c, "SET a 1", "+OK")
	redistest.Expect(t, c, "SET b 2 PXAT 4102444800000", "+OK")
	c.Do("SET", "odd\r\nkey", string([]byte{0, 255}))
	at, keys, err := readKeys(s)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(time.UnixMilli(at)).Abs(); d > 5*time.Second {
		t.Errorf("its clock is %v off", d)
	}
	want := map[string]engine.Entry{
		"a": {Value: "1", Text: true, Deadline: 0}, "b": {Value: "2", Text: true, Deadline: 4102444800000}, "odd\r\nkey": {Value: "\x00\xff", Text: true, Deadline: 0},
		"h": engine.Collection([]string{"HSET", "h", "f", "1"}),
	}
	if !maps.Equal(keys, want) {
		t.Errorf("got %+v, want %+v", keys, want)
	}
}
