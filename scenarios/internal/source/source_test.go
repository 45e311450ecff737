//go:build !js

package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPackageTime(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a call":                 {map[string]string{"lock.go": "package lock\n\nimport \"time\"\n\nvar start = time.Now()\n"}, "lock.go:5: time.Now"},
		"a function as a value":  {map[string]string{"lock.go": "package lock\n\nimport \"time\"\n\nvar now = time.Now\n"}, "lock.go:5: time.Now"},
		"a context":              {map[string]string{"lock.go": "package lock\n\nimport \"context\"\n\nvar _, _ = context.WithTimeout(context.Background(), 5)\n"}, "lock.go:5: context.WithTimeout"},
		"another name":           {map[string]string{"lock.go": "package lock\n\nimport clock \"time\"\n\nfunc f() { clock.Sleep(5) }\n"}, "lock.go:5: clock.Sleep"},
		"without a name":         {map[string]string{"lock.go": "package lock\n\nimport . \"time\"\n\nvar start = Now()\n"}, "lock.go:3: import . \"time\""},
		"only durations":         {map[string]string{"lock.go": "package lock\n\nimport \"time\"\n\nconst ttl = 10 * time.Second\n\nvar until time.Time\n"}, ""},
		"something else is time": {map[string]string{"lock.go": "package lock\n\nvar time struct{ Now int }\n\nvar now = time.Now\n"}, ""},
		"in the test": {map[string]string{"lock.go": "package lock\n",
			"lock_test.go": "package lock_test\n\nimport \"time\"\n\nvar start = time.Now()\n"}, "lock_test.go:5: time.Now"},
		"in a package that is imported": {map[string]string{"lock.go": "package lock\n\nimport \"example.com/m/inner\"\n\nvar start = inner.Start\n",
			"inner/inner.go": "package inner\n\nimport \"time\"\n\nvar Start = time.Now()\n"}, "example.com/m/inner/inner.go:5: time.Now"},
		"in a package that is compiled anew for the test": {map[string]string{"lock.go": "package lock\n", "lock_test.go": "package lock_test\n\nimport _ \"example.com/m/inner\"\n",
			"export_test.go": "package lock\n", "inner/inner.go": "package inner\n\nimport (\n\t_ \"example.com/m\"\n\t\"time\"\n)\n\nvar Start = time.Now()\n"}, "example.com/m/inner/inner.go:8: time.Now"},
		"in a package that is not imported": {map[string]string{"lock.go": "package lock\n", "inner/inner.go": "package inner\n\nimport \"time\"\n\nvar Start = time.Now()\n"}, ""},
		"for another system":                {map[string]string{"lock.go": "package lock\n", "lock_plan9.go": "package lock\n\nimport \"time\"\n\nvar start = time.Now()\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
			for name, text := range tt.files {
				os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := packageTime(dir, nil); got != tt.want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestNoSource(t *testing.T) {
	if _, err := packageTime(t.TempDir(), nil); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("in an empty directory: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := packageTime(".", nil); err == nil || err.Error() != "there is no go command" {
		t.Errorf("without a go command: %v", err)
	}
}

// The packages of Lockstep and those that it imports are not code under test.
func TestOwnPackages(t *testing.T) {
	if why := MayCallPackageTime(".", nil); why != "" {
		t.Error(why)
	}
}
