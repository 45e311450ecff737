package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"lockstep/reports"
	"lockstep/reports/explorer"
)

func newServe(k known) *cobra.Command {
	var addr string
	var expose bool
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Show the runs in a directory, or a site, in a browser",
		Long: `Serve lists the runs that lockstep run --out has written to a directory, with their verdicts, and
shows each one as a page to explore, as a timeline, as a picture, and as the history that was judged.
Histories are judged when they are requested, so the list is always up to date. If DIR is a site
that lockstep debate or lockstep course has written, it shows the site.

It only reads, serves nothing outside the directory, and listens only on this machine, unless
--expose allows another address. Ctrl-C ends it.`,
		Example: `  lockstep run --out results
  lockstep serve results
  lockstep serve results --addr 127.0.0.1:8080`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("serve takes one DIR, as lockstep run --out writes it, but got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch info, err := os.Stat(args[0]); { // checked first: opening a pipe would wait for a writer
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%s: there is no such directory; lockstep run --out %s makes one", args[0], quoted(args[0]))
			case err == nil && !info.IsDir():
				return fmt.Errorf("%s is not a directory", args[0])
			}
			root, err := os.OpenRoot(args[0])
			if err != nil {
				return err
			}
			defer root.Close()
			ln, err := listen(c.Context(), addr, expose)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is at http://%s/ until Ctrl-C\n", reports.Visible(args[0]), ln.Addr())
			return serve(c.Context(), ln, guarded(served(root, args[0], expose), hosts(ln.Addr(), expose)))
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "listen at `HOST:PORT`; port 0 means any free port")
	c.Flags().BoolVar(&expose, "expose", false, "allow an address that other machines can reach")
	return c
}

// served answers requests for what is in a directory: a site, or runs. It is exposed if other machines can reach it.
func served(root *os.Root, name string, exposed bool) http.Handler {
	if isSite(root) {
		return site{root, exposed}
	}
	return newShelf(root, name).handler()
}

// guarded passes on only requests that are meant for this server, and that only read.
func guarded(next http.Handler, meant func(host string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", explorer.ListPolicy()+"; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !meant(r.Host):
			http.Error(w, "this server does not have that name", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are allowed", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// listen listens on an address, which must be local to this machine unless it may be exposed.
func listen(ctx context.Context, addr string, expose bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: it must be HOST:PORT, as in 127.0.0.1:8080", oneLine(addr))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		return nil, fmt.Errorf("--addr %s: the port must be a number from 0 to 65535", oneLine(addr))
	}
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	if (host == "" || !at.IP.IsLoopback()) && !expose {
		return nil, fmt.Errorf("--addr %s: other machines can reach that; use 127.0.0.1:%s, or allow it with --expose", oneLine(addr), port)
	}
	if host == "" {
		return new(net.ListenConfig).Listen(ctx, "tcp", addr)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", at.String()) // not the name, which may resolve to another address now
}

// serve answers until the context ends.
func serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	defer hold()()
	bounded, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.Shutdown(bounded) != nil {
		s.Close() // a client is still reading
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// hosts returns a function that reports by its Host whether a request is meant for this server. A page from elsewhere whose name resolves
// to this machine (DNS rebinding) asks for that name, and must get nothing. Other machines, if allowed, ask for an address or for the
// name of the machine.
func hosts(at net.Addr, expose bool) func(host string) bool {
	_, port, _ := net.SplitHostPort(at.String())
	name := ""
	if expose {
		name, _ = os.Hostname()
	}
	return func(host string) bool {
		h, p, err := net.SplitHostPort(host)
		if err != nil {
			h, p = host, "80"
		}
		if p != port {
			return false
		}
		ip := net.ParseIP(h)
		switch {
		case host == at.String(), h == "localhost":
			return true
		case expose:
			return ip != nil || name != "" && h == name
		}
		return ip != nil && ip.IsLoopback()
	}
}
