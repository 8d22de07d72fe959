package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"parley/gateway/admin"
	"parley/gateway/budgets"
	"parley/gateway/intake"
	"parley/gateway/page"
	"parley/gateway/settings"
	"parley/sessions"
)

// AdminSocket returns the path of the operator's socket, or "" when there is none.
// It is known once Started is closed.
func (g *Gateway) AdminSocket() string {
	select {
	case <-g.started:
		return g.admin.Socket()
	default:
		return ""
	}
}

// openAdmin binds the operator's socket.
func (g *Gateway) openAdmin(ctx context.Context, opened resources, in *intake.Intake) (*admin.Server, error) {
	return admin.New(ctx, admin.Options{
		Socket: g.cfg.Admin.Socket, Version: g.o.Version, StateDir: g.cfg.StateDir, Store: opened.store, Log: opened.log, Intake: in, Inquiries: g.inquiries, People: g.people, Accounts: func() map[string]admin.Account { return accountAccess(g.present().cfg) },
		Record: recordingSource(g.editions, opened, g.people, g.servers).Write,
		Restore: func(ctx context.Context, r io.Reader, token string) (admin.Restored, error) {
			return restoreSession(ctx, opened.store, r, token, g.o.Now)
		},
		Backup:  backupOf(g.setup, opened),
		Erasure: g.erasure, Retention: g.keepSessions,
		Recent:   func() admin.Recent { return admin.RecentOf(g.metrics.Recent()) },
		Circuits: func() []admin.Circuit { return admin.CircuitsOf(g.circuits.Open()) },
		Ready:    g.ops.Report, Channels: g.accounts.status, Budgets: func() []admin.Budget { return g.present().totalBudgets() }, Raised: g.raises.of, Counts: g.raises.counts, Limits: func() budgets.Limits { return g.present().limits }, Redact: g.redactor.Clean, Logger: g.o.Logger, Now: g.o.Now,
		Why:     fateSource(opened, g.passed, g.o.Now).Find,
		Refused: g.passed.Refused, PageCode: g.pageCode(),
		StoreSize: opened.size, PricesOf: func() time.Time { return newestPrice(g.present().cfg, g.prices.View()) }, Linked: func() map[string]admin.NamedAccount { return g.accounts.linked(g.present().cfg.Accounts()) }, Reload: g.Reload, Reloaded: g.reloads.status,
		Sandbox: func() *admin.Sandbox { return sandboxStatus(opened.sandbox, g.present().cfg) }, Servers: g.servers.status, Consent: g.servers.consent, TakeBackConsent: g.servers.takeBackConsent, BeginLogin: g.servers.beginLogin, FinishLogin: g.servers.finishLogin, Logout: g.servers.logout, Jobs: g.schedules.list, RunJob: g.schedules.run, Context: func(ctx context.Context, s sessions.Session) (*admin.Context, error) {
			return g.present().measureSession(ctx, s)
		},
	})
}

// measureSession returns how full the window of a session's model is.
func (e *edition) measureSession(ctx context.Context, s sessions.Session) (*admin.Context, error) {
	if _, ok := e.agents[s.Key.Agent()]; !ok {
		return nil, nil // no agent answers there, which is no error
	}
	c, err := e.commands.SessionGauge(ctx, s)
	if err != nil || c.Window == 0 {
		return nil, err // it says what was read
	}
	return &admin.Context{Tokens: c.Tokens, Window: c.Window, Percent: c.Percent}, nil
}

// totalBudgets returns the budgets that hold for everybody.
func (e *edition) totalBudgets() []admin.Budget {
	total := []admin.Budget{
		{Name: "budgets.global_per_day", Scope: e.limits.DayScope()},
		{Name: "budgets.global_per_month", Scope: e.limits.MonthScope()},
	}
	for _, a := range e.cfg.Accounts() {
		total = append(total, admin.Budget{Name: a.Path + ".budget_per_day", Scope: e.limits.ChannelScope(a.Name)})
	}
	return total
}

// openPage binds the operator page, if there is one.
func (g *Gateway) openPage(ctx context.Context) (*page.Server, error) {
	c, o := g.cfg.Page, page.Options{Now: g.o.Now}
	if c.Enabled {
		o = page.Options{Listen: c.Listen, URL: c.URL, Operators: c.Passwords(), Pages: g.admin.Pages(), Logger: g.o.Logger, Now: g.o.Now}
	}
	return page.New(ctx, o) // it names the key of the configuration
}

// PageURL returns the address of the operator page in browsers, or "" when there is none. It is
// known once Started is closed.
func (g *Gateway) PageURL() string {
	select {
	case <-g.started:
		return g.page.URL()
	default:
		return ""
	}
}

// pageCode returns what gives codes for the operator page; nil: there is none.
func (g *Gateway) pageCode() func(by string) (admin.PageCode, error) {
	if !g.cfg.Page.Enabled {
		return nil
	}
	return func(by string) (admin.PageCode, error) { return g.NewPageCode(by), nil }
}

// NewPageCode returns a code with which its reader logs in to the operator page, as by. There must be
// one, and Started must be closed.
func (g *Gateway) NewPageCode(by string) admin.PageCode {
	code, until := g.page.NewCode(by)
	return admin.PageCode{URL: g.page.URL(), Code: code, Until: until.UTC()}
}

// accountAccess returns who may talk to each bot account, as configured.
func accountAccess(c settings.Config) map[string]admin.Account {
	all := map[string]admin.Account{}
	for _, a := range c.Accounts() {
		all[a.Name] = admin.Account{Access: a.Access, CheckPerson: a.Person}
	}
	return all
}

// totalSize returns the bytes of those files that are there.
func totalSize(files ...string) (sum int64, err error) {
	for _, f := range files {
		info, err := os.Stat(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("look at the size of the store: %w", err)
		}
		sum += info.Size()
	}
	return sum, nil
}
