package signal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	ossignal "os/signal"
	"syscall"
	"time"
)

// RunKeeper runs signal-cli, the program args[0], for a parley that started this process as
// its Keeper, and gives its exit status. When parley is killed the pipe at standard
// input ends; after a while, in which signal-cli writes down what it has confirmed to
// Signal, Keep tells it to end, and after another while makes it. Another parley that
// starts in the meantime ends both itself. Who ends the two in order sends signals to
// their group, which Keep leaves to signal-cli.
func RunKeeper(after time.Duration, args []string, in io.Reader, out, errs io.Writer) int {
	const failed = 1
	complain := func(err error) int {
		_, _ = fmt.Fprintln(errs, err)
		return failed
	}
	if len(args) == 0 {
		return complain(errNoProgram)
	}
	ossignal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // nobody reads it
	cmd := exec.Command(args[0], args[1:]...)                                                 //nolint:noctx // the operator's own
	cmd.Stdout, cmd.Stderr = out, errs
	lock := os.NewFile(lockFD, daemonLock)
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
	if err := cmd.Start(); err != nil {
		return complain(startError(args[0], err))
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-ended:
				return
			case <-time.After(after):
				_ = cmd.Process.Signal(sig)
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	}
	return complain(fmt.Errorf("signal-cli ended: %w", err))
}

var errNoProgram = errors.New("keep signal-cli: no program is given")
