//go:build js

// Command browser is the program that a page of the debate runs in a web worker, compiled to WebAssembly. It plays the runs that the reader
// asks for. See [lockstep/scenarios/reader].
package main

import (
	"encoding/json"
	"syscall/js"

	"lockstep/scenarios/play"
	"lockstep/scenarios/reader"
)

func main() {
	play.QuietRedis()
	// A callback must not block: it runs on the only thread, which the run needs. So it only passes the request on.
	requests := make(chan string, 1000)
	js.Global().Set("lockstepPlay", js.FuncOf(func(_ js.Value, args []js.Value) any {
		requests <- args[0].String()
		return nil
	}))
	post(map[string]bool{"ready": true})
	for text := range requests {
		var r reader.Request
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			post(reader.Answer{Errors: []reader.Mistake{{Text: err.Error()}}})
			continue
		}
		if r.Want == reader.Exploring {
			post(reader.Explore(r, func(done, all int) {
				post(reader.Answer{ID: r.ID, Exploration: &reader.Exploration{Progress: &[2]int{done, all}}})
			}))
			continue
		}
		post(reader.Play(r))
	}
}

func post(answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	js.Global().Call("postMessage", string(text))
}
