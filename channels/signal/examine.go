package signal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/findings"
)

var _ channels.Examiner = (*Channel)(nil)

// Kinds of findings.
var (
	kindProgram = findings.Kind{
		ID: "signal.version", Severity: findings.Fine,
		Meaning: "signal-cli is there, and new enough.",
	}
	kindMissing = findings.Kind{
		ID: "signal.missing", Severity: findings.Problem,
		Meaning: "signal-cli cannot be started, or does not say its version. The bot neither receives nor sends.",
		Fix:     "Install signal-cli 0.14.6 or newer with its Java, or say in command where it is; docs/signal.md has the steps.",
	}
	kindOld = findings.Kind{
		ID: "signal.old", Severity: findings.Problem,
		Meaning: "This signal-cli confirms messages to Signal and then loses them, or cannot name an account as the configuration does.",
		Fix:     "Install signal-cli 0.14.6 or newer. Until then nothing is received, and messages wait at Signal.",
	}
	kindUnreachable = findings.Kind{
		ID: "signal.unreachable", Severity: findings.Problem,
		Meaning: "No signal-cli answers at url.",
		Fix:     "Start the daemon that url names, with an address that this machine reaches, or correct url.",
	}
	kindLinked = findings.Kind{
		ID: "signal.account", Severity: findings.Fine,
		Meaning: "signal-cli has the account.",
	}
	kindUnlinked = findings.Kind{
		ID: "signal.unlinked", Severity: findings.Problem,
		Meaning: "signal-cli does not have the account: it was never registered or linked for this user, or is in another folder.",
		Fix:     "Register the number or link the account as the user that runs parley (parley signal link), or name its folder with --config in command.",
	}
)

// Kinds returns what [Channel.Examine] may find.
func Kinds() []findings.Kind {
	return []findings.Kind{kindProgram, kindMissing, kindOld, kindUnreachable, kindLinked, kindUnlinked}
}

// examineWithin bounds how long signal-cli may take to say its version: Java starts slowly.
const examineWithin = 30 * time.Second

// Examine asks the signal-cli that runs, or else starts one that only says its version: a second one
// for the account would wait for the first.
func (c *Channel) Examine(ctx context.Context) []findings.Finding {
	name := c.o.Name
	version, err := c.queryVersion(ctx)
	running := err == nil
	switch {
	case running:
	case c.daemon == nil:
		return []findings.Finding{kindUnreachable.At(name, "%v", c.queryError("version", err))}
	default:
		if version, err = c.programVersion(ctx); err != nil {
			return []findings.Finding{kindMissing.At(name, "%v", err)}
		}
	}
	if err := checkVersion(version, c.o.Account); err != nil {
		return []findings.Finding{kindOld.At(name, "%v", err)}
	}
	state := "it does not run"
	if running {
		state = "it runs"
	}
	return []findings.Finding{kindProgram.At(name, "signal-cli %s, %s", markup.Brief(version), state), c.examineLink(ctx, running)}
}

// programVersion starts signal-cli for its version alone.
func (c *Channel) programVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, examineWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.o.Command[0], append(slices.Clone(c.o.Command[1:]), "--version")...) // the operator's own
	var out, complaint bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = childEnv(), &out, &complaint, time.Second
	if err := cmd.Run(); err != nil {
		if said := markup.Brief(complaint.String()); said != "" {
			return "", fmt.Errorf("%w: %s", startError(c.o.Command[0], err), said)
		}
		return "", startError(c.o.Command[0], err)
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(out.String()), "signal-cli ")
	if !ok {
		return "", fmt.Errorf("%w: %s --version says %q", errNotReady, c.o.Command[0], markup.Brief(out.String()))
	}
	return version, nil
}

// examineLink says whether signal-cli has the account. One that serves a single account has it.
func (c *Channel) examineLink(ctx context.Context, running bool) findings.Finding {
	name, me := c.o.Name, configuredSelf(c.o.Account, c.o.ACI)
	if running && c.daemon != nil {
		return kindLinked.At(name, "%s, which signal-cli serves", c.o.Account)
	}
	var rows []struct {
		Number string `json:"number"`
		ACI    string `json:"aci"`
		UUID   string `json:"uuid"`
	}
	from := "listAccounts"
	if running {
		err := c.query(ctx, from, nil, &rows)
		var said *rpcError
		if errors.As(err, &said) && said.Code == codeNoMethod {
			return kindLinked.At(name, "signal-cli serves a single account")
		}
		if err != nil {
			return kindUnlinked.At(name, "%v", err)
		}
	} else {
		from = filepath.Join(DataDir(c.o.Command, os.Getenv), "data", "accounts.json")
		text, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			return kindUnlinked.At(name, "there is no %s", from)
		}
		var file struct {
			Accounts json.RawMessage `json:"accounts"`
		}
		if err == nil {
			err = json.Unmarshal(text, &file)
		}
		if err == nil {
			err = json.Unmarshal(file.Accounts, &rows)
		}
		if err != nil {
			return kindUnlinked.At(name, "read %s: %v", from, err)
		}
	}
	for _, r := range rows {
		if me.matches(r.ACI+r.UUID, r.Number) {
			return kindLinked.At(name, "%s, in %s", c.o.Account, from)
		}
	}
	return kindUnlinked.At(name, "%s is not among the %d accounts in %s", c.o.Account, len(rows), from)
}
