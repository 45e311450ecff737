package scenarios

import (
	"bytes"
	"reflect"
	"regexp"
	"testing"

	"lockstep/sim/history"
)

// What a reader of foreign histories knows is all that Lockstep says: without its sum each history of the catalogue is still read.
func TestHistoriesHaveNoUnknownWords(t *testing.T) {
	field := regexp.MustCompile(`,"sum":"[0-9a-f]{8}"`)
	for name, o := range wholeCatalogue(t) {
		var b bytes.Buffer
		if _, err := o.History.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		kept, err := history.ReadHistory(bytes.NewReader(b.Bytes()))
		if err != nil || kept.Foreign || !reflect.DeepEqual(kept, o.History) {
			t.Errorf("%s is read otherwise than it was written: %v", name, err)
		}
		foreign, err := history.ReadHistory(bytes.NewReader(field.ReplaceAll(b.Bytes(), nil)))
		if err != nil {
			t.Errorf("%s: line %v", name, err)
		} else if !foreign.Foreign || !reflect.DeepEqual(foreign.Events, o.History.Events) {
			t.Errorf("%s is read otherwise without its sum", name)
		}
	}
}
