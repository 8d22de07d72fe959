package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a service manager is told, as sd_notify(3) of systemd has it.
const (
	notifyReady    = "READY=1"
	notifyStopping = "STOPPING=1"
	notifyAlive    = "WATCHDOG=1"
)

// notifyTimeout is how long a service manager is given to make room for what it is told.
const notifyTimeout = 2 * time.Second

// serviceManager is the program that started this one, such as systemd, as far as it wants
// to know how this one is.
type serviceManager struct {
	socket   string        // where it reads; "": it wants to know nothing
	patience time.Duration // it restarts a process that says nothing for so long; 0: it waits
}

var errNotifySocket = errors.New("NOTIFY_SOCKET is neither an absolute path nor begins with @")

// newServiceManager returns what the environment says of the service manager.
func newServiceManager(getenv func(string) (string, bool), pid int) (serviceManager, error) {
	var m serviceManager
	m.socket, _ = getenv("NOTIFY_SOCKET")
	if m.socket == "" {
		return m, nil
	}
	if m.socket[0] != '/' && m.socket[0] != '@' {
		return serviceManager{}, errNotifySocket
	}
	usec, _ := getenv("WATCHDOG_USEC")
	who, _ := getenv("WATCHDOG_PID")
	if usec == "" || who != "" && who != strconv.Itoa(pid) {
		return m, nil // no watchdog, or that of another process
	}
	n, err := strconv.ParseInt(usec, 10, 64)
	if m.patience = time.Duration(n) * time.Microsecond; err != nil || n <= 0 || m.patience.Microseconds() != n {
		return serviceManager{}, fmt.Errorf("WATCHDOG_USEC is %q, not a number of microseconds", usec) // for the operator
	}
	return m, nil
}

// send tells the service manager one thing.
func (m serviceManager) send(state string) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	// One that does not read keeps nobody from going on, or from ending.
	err = c.SetWriteDeadline(time.Now().Add(notifyTimeout))
	if err == nil {
		_, err = c.Write([]byte(state))
	}
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	return nil
}

// notifyServiceManager tells the service manager, if there is one that wants to know, that
// the gateway is ready once started is closed, that it is stopping once ctx has ended or
// end is called, and meanwhile that it is alive. end returns when nothing more is told.
// What the service manager cannot be told is a warning: the gateway runs all the same.
func notifyServiceManager(ctx context.Context, getenv func(string) (string, bool), started <-chan struct{}, log *slog.Logger) (end func()) {
	m, err := newServiceManager(getenv, os.Getpid())
	if err != nil {
		log.Warn("service manager not notified", "error", err)
	}
	if m.socket == "" {
		return func() {}
	}
	ended := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		m.follow(ctx.Done(), started, ended, func(state string) {
			if err := m.send(state); err != nil {
				log.Warn("service manager not notified", "error", err)
			}
		})
	})
	return func() {
		close(ended)
		telling.Wait()
	}
}

// follow tells what happens, in its order, until ended is closed.
func (m serviceManager) follow(stopping, started, ended <-chan struct{}, tell func(state string)) {
	var alive <-chan time.Time
	stopped := false
	stop := func() {
		if !stopped {
			tell(notifyStopping)
		}
		stopped, started, stopping = true, nil, nil
	}
	for {
		select {
		case <-started:
			started = nil
			if m.patience > 0 { // twice as often as it has to
				tick := time.NewTicker(m.patience / 2)
				defer tick.Stop()
				alive = tick.C
			}
			tell(strings.Join([]string{notifyReady, notifyAlive}, "\n"))
		case <-alive:
			tell(notifyAlive)
		case <-stopping:
			stop()
		case <-ended:
			stop()
			return
		}
	}
}
