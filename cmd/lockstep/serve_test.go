package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports/sites"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// shelved makes a directory with runs as run --out writes them, and with files that must not be served.
func shelved(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results <i>")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clock-jump", "pause-fenced"} {
		s, err := script.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Runs {
			build, err := clients.Find(r.Lock)
			if err != nil {
				t.Fatal(err)
			}
			o, err := play.Simulate(s, r, build, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := writeArtifacts(t.Context(), dir, o, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// serveDir returns a function that answers requests as the program would for a directory at an address.
func serveDir(t *testing.T, dir, at string, expose bool) func(method, path, host string) *http.Response {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	addr, err := net.ResolveTCPAddr("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	h := guarded(served(root, dir, expose), hosts(addr, expose))
	return func(method, path, host string) *http.Response {
		r := httptest.NewRequest(method, "http://"+at+"/", nil)
		// The path is sent as it is, without the cleaning that most clients do.
		r.URL = &url.URL{Path: path}
		if p, err := url.PathUnescape(path); err == nil && p != path {
			r.URL.Path, r.URL.RawPath = p, path
		}
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const here = "127.0.0.1:8080"

// The list has the verdicts of all histories, and links to all their files.
func TestServe(t *testing.T) {
	dir := shelved(t)
	write(t, filepath.Join(dir, "torn", "run.jsonl"), "{\"scenario\":\"x\"}\n{")
	write(t, filepath.Join(dir, "clock-jump", "panics-for-redlock.report.txt"), "panic: it did\n")
	get := serveDir(t, dir, here, false)
	r := get("GET", "/", here)
	list := body(t, r)
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%s %v\n%s", r.Status, r.Header, list)
	}
	for _, want := range []string{
		"results &lt;i&gt;", " 4 UNSAFE, ", "<bdi>clock-jump: redlock</bdi></a>", "<td class=\"UNSAFE\">UNSAFE</td><td data-name=\"violated:\">lease exclusion</td><td data-name=\"assumption broken:\">bounded clock error</td><td class=\"yes\"",
		"torn/run", "cannot be judged: line 2: ", "panics-for-redlock",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in the list:\n%s", want, list)
		}
	}
	links := regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(list, -1)
	kinds := map[string]int{}
	for _, link := range links {
		r := get("GET", link[1], here)
		data := body(t, r)
		if r.StatusCode != http.StatusOK || data == "" {
			t.Errorf("%s: %s", link[1], r.Status)
		}
		kinds[r.Header.Get("Content-Type")]++
		head := get("HEAD", link[1], here)
		if head.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s: %s", link[1], head.Status)
		}
		if strings.HasPrefix(link[1], "/run/") && (!strings.Contains(data, "<canvas") || !strings.Contains(r.Header.Get("Content-Security-Policy"), "script-src 'sha256-")) {
			t.Errorf("%s is not a page to explore a run", link[1])
		}
	}
	for _, kind := range []string{"text/html; charset=utf-8", "text/plain; charset=utf-8", "image/svg+xml", "image/png"} {
		if kinds[kind] == 0 {
			t.Errorf("nothing is served as %s: %v", kind, kinds)
		}
	}

	// The list is up to date.
	h, err := os.ReadFile(filepath.Join(dir, "clock-jump", "redlock.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "torn", "run.jsonl"), string(h))
	if err := os.Remove(filepath.Join(dir, "clock-jump", "redlock.jsonl")); err != nil {
		t.Fatal(err)
	}
	list = body(t, get("GET", "/", here))
	if strings.Contains(list, "cannot be judged") || strings.Contains(list, "/run/clock-jump/redlock") || !strings.Contains(list, `href="/run/torn/run"`) {
		t.Errorf("the list is not up to date:\n%s", list)
	}
}

// Requests get nothing from outside the directory, no files of other types, nothing under another name of the server, and change nothing.
func TestServeRefuses(t *testing.T) {
	dir := shelved(t)
	const secret = "s3cret"
	outside := filepath.Join(filepath.Dir(dir), "outside")
	write(t, filepath.Join(outside, "secret.txt"), secret)
	write(t, filepath.Join(outside, "secret.jsonl"), `{"scenario":"`+secret+`"}`)
	write(t, filepath.Join(dir, ".hidden.txt"), secret)
	write(t, filepath.Join(dir, ".git", "run.jsonl"), `{"scenario":"`+secret+`"}`)
	write(t, filepath.Join(dir, "page.html"), secret+"<script>alert(1)</script>")
	write(t, filepath.Join(dir, "key.pem"), secret)
	if runtime.GOOS != "windows" {
		for name, target := range map[string]string{
			"link.txt": filepath.Join(outside, "secret.txt"), "link.jsonl": "../outside/secret.jsonl", "linked": "../outside", "loop.txt": "loop.txt",
		} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	get := serveDir(t, dir, here, false)
	for _, path := range []string{
		"/file/../outside/secret.txt", "/file/%2e%2e/outside/secret.txt", "/file/..%2foutside%2fsecret.txt", "/file/clock-jump/..%2f..%2foutside/secret.txt", "/file/..\\outside\\secret.txt",
		"/file//" + outside + "/secret.txt", "/file/" + outside + "/secret.txt", "/file/%2f" + outside + "/secret.txt",
		"/run/../outside/secret", "/run/..%2foutside%2fsecret", "/run/link", "/run/linked/secret", "/run/.git/run", "/run/clock-jump", "/run/", "/run/x\x00y", "/file/x\x00.txt",
		"/file/link.txt", "/file/link.jsonl", "/file/linked/secret.txt", "/file/loop.txt", "/file/.hidden.txt", "/file/.git/run.jsonl", "/file/page.html", "/file/key.pem", "/file/", "/file/clock-jump",
		"/file/clock-jump/", "/page.html", "/../outside/secret.txt", "/run/clock-jump/redlock.jsonl", "/etc/passwd", "/debug/pprof/",
	} {
		r := get("GET", path, here)
		if data := body(t, r); r.StatusCode == http.StatusOK || strings.Contains(data, secret) {
			t.Errorf("%q: %s\n%.300s", path, r.Status, data)
		}
	}
	if list := body(t, get("GET", "/", here)); strings.Contains(list, secret) || strings.Contains(list, "link") && strings.Contains(list, "/linked") {
		t.Errorf("the list has files from outside:\n%s", list)
	}

	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "PROPFIND"} {
		for _, path := range []string{"/", "/file/clock-jump/redlock.txt", "/run/clock-jump/redlock"} {
			if r := get(method, path, here); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %s", method, path, r.Status)
			}
		}
	}

	for _, test := range []struct {
		at, host string
		expose   bool
		want     bool
	}{
		{here, here, false, true},
		{here, "localhost:8080", false, true},
		{here, "[::1]:8080", false, true},
		{here, "127.0.0.1:8081", false, false},
		{here, "127.0.0.1", false, false},
		{here, "evil.example:8080", false, false},
		{here, "localhost.evil.example:8080", false, false},
		{here, "127.0.0.1.evil.example:8080", false, false},
		{here, "192.0.2.7:8080", false, false},
		{here, "", false, false},
		{here, "evil.example", false, false},
		{here, "a:b:c", false, false},
		{"[::1]:8080", "[::1]:8080", false, true},
		{"127.0.0.1:80", "127.0.0.1", false, true},
		{"127.0.0.1:80", "evil.example", false, false},
		{"0.0.0.0:8080", "192.0.2.7:8080", true, true},
		{"0.0.0.0:8080", "evil.example:8080", true, false},
	} {
		get := serveDir(t, dir, test.at, test.expose)
		for _, path := range []string{"/", "/file/clock-jump/redlock.txt", "/run/clock-jump/redlock", "/nowhere"} {
			if r := get("GET", path, test.host); (r.StatusCode != http.StatusMisdirectedRequest) != test.want {
				t.Errorf("at %s, asked as %q for %s: %s", test.at, test.host, path, r.Status)
			}
		}
	}
}

// A site is served as it is, with its directories, and nothing that it does not list.
func TestServeSite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	const secret = "s3cret"
	engine := strings.Repeat("window.lockstepEngine = {};\n", 100)
	for _, f := range sites.Sealed(courseMark, []sites.File{
		{Name: "index.html", Data: []byte("the index")}, {Name: "engine.js", Data: []byte(engine)}, {Name: "debate/index.html", Data: []byte("the debate")},
		{Name: "lab/lock.go", Data: []byte("package lab")}, {Name: "linked.txt"}, {Name: "../outside.txt"}, {Name: "gone.html"},
	}) {
		if f.Name != "linked.txt" && f.Name != "gone.html" {
			write(t, filepath.Join(dir, f.Name), string(f.Data))
		}
	}
	write(t, filepath.Join(dir, "..", "outside.txt"), secret)
	write(t, filepath.Join(dir, "unlisted.html"), secret)
	if runtime.GOOS != "windows" {
		if err := os.Symlink("../outside.txt", filepath.Join(dir, "linked.txt")); err != nil {
			t.Fatal(err)
		}
	}
	get := serveDir(t, dir, here, false)
	for _, c := range []struct{ path, kind, data string }{
		{"/", "text/html; charset=utf-8", "the index"},
		{"/index.html", "text/html; charset=utf-8", "the index"},
		{"/debate/", "text/html; charset=utf-8", "the debate"},
		{"/engine.js", "text/javascript; charset=utf-8", engine},
		{"/lab/lock.go", "text/plain; charset=utf-8", "package lab"},
	} {
		r := get("GET", c.path, here)
		if data := body(t, r); r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != c.kind || r.Header.Get("X-Content-Type-Options") != "nosniff" || data != c.data {
			t.Errorf("%s: %s %v\n%.100s", c.path, r.Status, r.Header, data)
		}
	}
	if r := get("GET", "/debate", here); r.Header.Get("Location") != "/debate/" {
		t.Errorf("/debate: %s %v", r.Status, r.Header)
	}
	for _, path := range []string{
		"/../outside.txt", "/%2e%2e/outside.txt", "/..%2foutside.txt", "/debate/../../outside.txt", "/linked.txt", "/unlisted.html", "/gone.html",
		"//etc/passwd", "/lab", "/lab/", "/nowhere", "/run/x", "/file/index.html", "/index.html/", "/x\x00y",
	} {
		if r := get("GET", path, here); r.StatusCode != http.StatusNotFound || strings.Contains(body(t, r), secret) {
			t.Errorf("%q: %s", path, r.Status)
		}
	}
	if r := get("POST", "/", here); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", r.Status)
	}
	if r := get("GET", "/", "evil.example:8080"); r.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("under another name: %s", r.Status)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	server := httptest.NewServer(served(root, dir, false))
	defer server.Close()
	for accepted, want := range map[string]string{"gzip, deflate, br": "gzip", "br;q=1.0, gzip;q=0.5": "gzip", "gzip;q=0, br": "", "": ""} {
		request, err := http.NewRequest("GET", server.URL+"/engine.js", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", accepted)
		r, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		from := io.Reader(r.Body)
		if want == "gzip" {
			if from, err = gzip.NewReader(r.Body); err != nil {
				t.Fatal(err)
			}
		}
		if data, err := io.ReadAll(from); err != nil || string(data) != engine || r.Header.Get("Content-Encoding") != want {
			t.Errorf("%q: %q, %d bytes, %v", accepted, r.Header.Get("Content-Encoding"), len(data), err)
		}
	}
}

// All files of the debate are served, and its pages may contain each other.
func TestServeDebate(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	dir := t.TempDir()
	debate, _ := debated(t)
	for name, page := range debate {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), page)
	}
	get := serveDir(t, dir, here, false)
	for name, page := range debate {
		r := get("GET", "/"+name, here)
		if data := body(t, r); r.StatusCode != http.StatusOK || data != page {
			t.Errorf("%s: %s, %d bytes", name, r.Status, len(data))
		}
		if policy := r.Header.Get("Content-Security-Policy"); strings.HasSuffix(name, ".html") && (policy != "frame-ancestors 'self'" || r.Header.Get("X-Frame-Options") != "SAMEORIGIN") {
			t.Errorf("%s: %v", name, r.Header)
		}
	}
}

// Every answer has headers that protect it: its type, its policy, and that other sites must not use it.
func TestServeHeaders(t *testing.T) {
	get := serveDir(t, shelved(t), here, false)
	for _, path := range []string{"/", "/file/clock-jump/redlock.svg", "/file/clock-jump/redlock.jsonl", "/run/clock-jump/redlock", "/nowhere", "/file/nowhere.txt"} {
		for _, host := range []string{here, "evil.example"} {
			r := get("GET", path, host)
			policy := r.Header.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") {
				t.Errorf("%s: the policy is %q", path, policy)
			}
			if r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Content-Type") == "" || r.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s: %v", path, r.Header)
			}
			for name := range r.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s: %s", path, name)
				}
			}
		}
	}
}

// Hostile names are shown as text, in the list and on the page of a run.
func TestServeHostile(t *testing.T) {
	dir := t.TempDir()
	s, err := script.Find("pause-fenced")
	if err != nil {
		t.Fatal(err)
	}
	build, err := clients.Find("single")
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.FindRun("single")
	if err != nil {
		t.Fatal(err)
	}
	for i, bad := range hostileNames {
		o, err := play.Simulate(s, run, build, 1)
		if err != nil {
			t.Fatal(err)
		}
		o.History.Meta.Scenario, o.History.Meta.Lock, o.History.Meta.Label, o.History.Meta.On = bad, bad, bad, bad
		for j := range o.History.Events {
			e := &o.History.Events[j]
			if e.Process == "c1" {
				e.Process = bad
			}
			if e.Error != "" {
				e.Error = bad
			}
		}
		for j, c := range o.History.Meta.Clients {
			if c == "c1" {
				o.History.Meta.Clients[j] = bad
			}
		}
		var b strings.Builder
		if _, err := o.History.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, string(rune('a'+i))+".jsonl"), b.String())
	}
	if runtime.GOOS != "windows" {
		write(t, filepath.Join(dir, "<img src=x onerror=alert(1)>\u202e?#%2e%0d\n.jsonl"), "{}")
	}
	get := serveDir(t, dir, here, false)
	list := body(t, get("GET", "/", here))
	if strings.ContainsAny(list, "\x1b\x00\u202e") || strings.Contains(list, "<img") || strings.Contains(list, "<script") || strings.Contains(list, "javascript:") && strings.Contains(list, `href="javascript:`) {
		t.Errorf("the list:\n%s", list)
	}
	for _, link := range regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(list, -1) {
		r := get("GET", strings.ReplaceAll(link[1], "&#43;", "+"), here)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%q: %s", link[1], r.Status)
		}
		if data := body(t, r); r.Header.Get("Content-Type") == "text/html; charset=utf-8" && (strings.Contains(data, "<script>alert") || strings.Contains(data, "<img")) {
			t.Errorf("%s is hostile", link[1])
		}
	}
}

// The program prints its address, serves this machine, and ends with Ctrl-C even if a client is connected.
func TestServeProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be interrupted on this system")
	}
	dir := shelved(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], "serve", dir)
	c.Env = append(c.Environ(), asProgram+"=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	at := regexp.MustCompile(`http://(127\.0\.0\.1:[0-9]+)/`).FindStringSubmatch(line)
	if err != nil || at == nil {
		c.Process.Kill()
		c.Wait()
		t.Fatalf("%q %v\n%s", line, err, said.String())
	}
	r, err := http.Get(at[0])
	if err != nil {
		t.Fatal(err)
	}
	list := body(t, r)
	r.Body.Close()
	if !strings.Contains(list, string(checker.Unsafe)) {
		t.Errorf("the list:\n%s", list)
	}
	idle, err := net.Dial("tcp", at[1])
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || said.Len() > 0 {
		t.Errorf("%v\n%s", err, said.String())
	}
	if _, err := net.Dial("tcp", at[1]); err == nil {
		t.Error("the address is still in use")
	}
	if _, err := os.Stat(filepath.Join(dir, "clock-jump", "redlock.jsonl")); err != nil {
		t.Error(err)
	}
}
