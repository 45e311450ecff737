package script

import "slices"

// A StepForm is a form of a step of a client, with what it means. D is a duration, N a number.
type StepForm struct {
	Words   string `json:"words"`
	Note    string `json:"note"`
	Example string `json:"example"`
	// Aside follows the note where the reader writes Go.
	Aside string `json:"-"`
}

// stepRows has the steps of a client, in the order in which they are documented.
var stepRows = []StepForm{
	{Words: "acquire", Example: "acquire", Note: "ask for the lock, once; a client that releases it at the instant at which it was obtained has held it at no instant, so let the client sleep or write in between"},
	{Words: "acquire for D", Example: "acquire for 5s", Note: "ask for it with a TTL of D, which must not be longer than the TTL of the run"},
	{Words: "acquire within D", Example: "acquire within 20s", Note: "retry until the lock is obtained or D has passed"},
	{Words: "acquire within D every D", Example: "acquire within 20s every 2s", Note: "the same, with the second D between the beginnings of tries"},
	{Words: "acquire ... cancelled after D", Example: "acquire cancelled after 1s", Note: "the context of the acquire ends D after it began, if it has not returned by then"},
	{Words: "extend", Example: "extend", Note: "ask for the newest lease to end one TTL from now"},
	{Words: "extend D", Example: "extend 5s", Note: "ask for it to end D from now, which may be sooner or later than its present end",
		Aside: "the run does not apply to a lock that extends only by the TTL with which it acquired (clients.ErrFixedTTL)"},
	{Words: "release", Example: "release", Note: "give the newest lease back, whether or not it still holds"},
	{Words: "release cancelled", Example: "release cancelled", Note: "the same, with a context that is cancelled already"},
	{Words: "release oldest", Example: "release oldest", Note: "give the oldest lease back that the client has neither released nor dropped, even if it is over, or if the client has got another one of the same lock since"},
	{Words: "release again", Example: "release again", Note: "give back once more the lease that the client gave back last"},
	{Words: "write VALUE", Example: "write A", Note: "write one word to the resource, under the newest lease"},
	{Words: "write VALUE blind", Example: "write A blind", Note: "the same, regardless of the mark of a check-and-set resource"},
	{Words: "read", Example: "read", Note: "read the resource"},
	{Words: "update WORD", Example: "update B", Note: "write back what was read last, with one more word, under the newest lease"},
	{Words: "enter", Example: "enter", Note: "set the mark of a check-and-set resource to the token of the newest lease"},
	{Words: "increment", Example: "increment", Note: "acquire, read the counter, write one more, release; a lock with its own way to increment uses that instead; waits for the lock for one TTL at most, and then skips the increment"},
	{Words: "increment within D", Example: "increment within 20s", Note: "the same, but waits for D at most"},
	{Words: "check", Example: "check", Note: "compare the end of the newest lease with the client's own clock, and drop it if it is over"},
	{Words: "pause D", Example: "pause 15s", Note: "pause the whole process"},
	{Words: "sleep D", Example: "sleep 3s", Note: "wait by the client's own clock"},
	{Words: "until D", Example: "until 12s", Note: "wait until an instant of true time since the start; does nothing if it has passed"},
	{Words: "lock NAME", Example: "lock stock", Note: "from here on ask for the lock with this name, not for the one named lock; a lease stays as it is, and steps are about it again when the one with this name has been released"},
	{Words: "repeat N STEP", Example: "repeat 10 increment", Note: "carry out a step N times, 100000 at most; not until, stay, or another repeat"},
	{Words: "stay", Example: "stay", Note: "at the end of a lane: the process does nothing more, but keeps running until the run is over"},
}

// StepForms lists the steps of a client, in the order in which they are documented.
func StepForms() []StepForm { return slices.Clone(stepRows) }
