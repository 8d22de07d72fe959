package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/tools/mcp/oauth"
)

func loginCommand(p program) *cobra.Command {
	o := &operator{program: p}
	var scopes []string
	c := o.bindAdmin(&cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at a server that asks for it (OAuth)",
		Long: `login prints an address at which you log in with a browser, and waits until you have. A
browser on this machine leads back by itself. With one on another machine the page at the
end cannot be opened: copy its address from the browser, and paste it here.

The gateway that runs gets the login and keeps it; this program sees no token. Each process
that has the server needs one, unless they share the folder mcp.logins.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeServers(p),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		return o.login(ctx, ask, args[0], scopes)
	})
	c.Flags().StringArrayVar(&scopes, "scope", nil, "ask for this right too; may be repeated")
	return c
}

func logoutCommand(p program) *cobra.Command {
	var server string
	return answerCommand(p, &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget the login at a server",
		Long: `logout forgets the login at a server, and has the authorization server forget it if that can.
Calls of the server's tools say from then on that somebody has to log in.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeServers(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.LoggedOut, error) {
		server = args[0]
		return ask.MCP().Logout(ctx, server)
	}, func(b *bytes.Buffer, done admin.LoggedOut) {
		text := "Nobody is logged in at %s.\n"
		if done.Was {
			text = "The login at %s is forgotten.\n"
		}
		fmt.Fprintf(b, text, sanitize(server))
	})
}

// login has a person log in at a server, and hands what their browser brings to the gateway.
func (o *operator) login(ctx context.Context, ask *admin.Client, server string, scopes []string) error {
	// Nobody else on this machine can take a port that is held.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the browser: %w", err)
	}
	started, err := ask.MCP().BeginLogin(ctx, server, "http://"+l.Addr().String()+"/callback", scopes)
	if err != nil {
		_ = l.Close()
		return err // it names what was asked
	}
	if l, err = o.listenAt(ctx, l, started.Redirect); err != nil {
		return err
	}
	if err := o.explainLogin(started, l != nil); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadlineCause(ctx, started.Expires, errLoginLate)
	defer cancel()
	address, err := o.awaitBrowser(ctx, started, l)
	if err != nil {
		return err
	}
	st, err := ask.MCP().FinishLogin(ctx, server, address)
	if err != nil {
		return err // it names what was asked
	}
	text := "Logged in at " + sanitize(st.Name)
	if st.Login != nil {
		text += " by " + sanitize(st.Login.Issuer)
		if len(st.Login.Scopes) > 0 {
			text += ", with " + sanitize(strings.Join(st.Login.Scopes, " "))
		}
	}
	_, err = fmt.Fprintln(o.out, text+".")
	return err // the caller says what failed
}

// listenAt returns what listens where the browser is led to: l, or something else if the
// configuration says where; nil: this machine is not that.
func (o *operator) listenAt(ctx context.Context, l net.Listener, redirect string) (net.Listener, error) {
	u, err := url.Parse(redirect)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("read where the browser is led to: %w", err)
	}
	if u.Host == l.Addr().String() {
		return l, nil
	}
	_ = l.Close()
	if u.Scheme != "http" {
		return nil, nil // then the address is pasted
	}
	l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("listen where mcp.servers…oauth.redirect leads the browser to: %w", err)
	}
	return l, nil
}

func (o *operator) explainLogin(s oauth.Started, listens bool) error {
	text := "Log in at " + sanitize(s.Issuer) + " with a browser:\n\n  " + sanitize(s.URL) + "\n\n"
	if listens {
		text += "A browser on this machine leads back by itself. From another machine: the page that\ncannot be opened at the end has an address that begins with " + sanitize(s.Redirect) + ";\npaste it here:\n"
	} else {
		text += "The page at the end has an address that begins with " + sanitize(s.Redirect) + ";\npaste it here:\n"
	}
	_, err := io.WriteString(o.out, text)
	return err // the caller says what failed
}

var (
	errLoginLate = errors.New("the time for the login is over; begin again")
	errNoBrowser = errors.New("the input has ended, and no browser can lead back here")
)

// awaitBrowser returns the address to which a browser was led: by the browser itself, or pasted.
func (o *operator) awaitBrowser(ctx context.Context, s oauth.Started, l net.Listener) (string, error) {
	came := make(chan string, 2)
	if l != nil {
		srv := &http.Server{Handler: receiveBrowser(s, came), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(l) // it ends by Close or Shutdown
		}()
		defer func() {
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if srv.Shutdown(grace) != nil { // the browser reads the page until then
				_ = srv.Close()
			}
			<-served
		}()
	}
	over := make(chan struct{})
	go func() { // it ends with the process: a read of standard input cannot be ended
		defer close(over)
		lines := bufio.NewScanner(o.in)
		lines.Buffer(nil, 64<<10)
		for lines.Scan() {
			text := strings.TrimSpace(lines.Text())
			if text == "" {
				continue
			}
			if !belongs(s, text) {
				_, _ = fmt.Fprintf(o.out, "This is not the address of this login. It begins with %s and has a state and a code. Paste it:\n", sanitize(s.Redirect))
				continue
			}
			came <- text
			return
		}
	}()
	for {
		select {
		case address := <-came:
			return address, nil
		case <-over:
			select {
			case address := <-came:
				return address, nil
			default:
			}
			if l == nil {
				return "", errNoBrowser
			}
			over = nil // the browser may come
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// belongs reports whether an address is that to which the browser was led by this login.
func belongs(s oauth.Started, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	bare, _, _ := strings.Cut(address, "?")
	return bare == s.Redirect && u.Query().Get("state") == s.State
}

// receiveBrowser takes the first request of the login in; other programs on this machine can ask too.
func receiveBrowser(s oauth.Started, came chan<- string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		address := "http://" + r.Host + r.URL.RequestURI()
		if r.Method != http.MethodGet || !belongs(s, address) {
			http.Error(w, "This is not part of the login that is under way.", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, "parley has what it needs. Look at the terminal; this page can be closed.\n")
		select {
		case came <- address:
		default: // it came before
		}
	})
}
