package main

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/gateway/admin"
)

// What the commands show of budgets, raise and take back while the gateway runs, without a word in the
// configuration, which may be read-only.
func TestBudgetsOfAGatewayThatRuns(t *testing.T) {
	t.Parallel()
	_, config := operated(t)
	sum := func() [32]byte {
		t.Helper()
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(text)
	}
	before := sum()
	if err := os.Chmod(config, 0o400); err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	table := func(text string) string {
		text = regexp.MustCompile(`\d{4}-\d\d-\d\d  `).ReplaceAllString(text, "DAY  ")
		text = regexp.MustCompile(`\d{4}-\d\d(  |\n)`).ReplaceAllString(text, "MONTH$1")
		text = regexp.MustCompile(`\d{4}-\d\d-\d\d\n`).ReplaceAllString(text, "DAY\n")
		text = regexp.MustCompile(`\d+\.\d %`).ReplaceAllString(ids.ReplaceAllString(text, "RAISE"), "SHARE")
		return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	}
	golden(t, "budget ls", table(saidOf(t, "budget", "ls", "-c", config)), `
BUDGET OF LIMIT RAISED SPENT HELD SHARE PERIOD CHANNEL
global_per_day everybody $50.00 COST $0.00 SHARE DAY
global_per_month everybody unlimited COST $0.00 MONTH
channel_per_day tg unlimited COST $0.00 DAY tg
turn each message $1.00 message
session each conversation $20.00 conversation
session SESSION-ID................ $20.00 COST $0.00 SHARE conversation tg
person_per_day each person $5.00 DAY
person_per_day 1001 $5.00 COST $0.00 SHARE DAY tg
group_per_day each group $10.00 DAY
`)
	golden(t, "budget raise", ids.ReplaceAllString(saidOf(t, "budget", "raise", "person_per_day", "2.50", "--for", "30m", "--channel", "tg", "--person", "1001", "-c", config), "RAISE"), `
raised person_per_day of 1001 by $2.50, until TIME; parley budget revoke RAISE takes it back
`)
	list := saidOf(t, "budget", "ls", "-c", config)
	if !strings.Contains(table(list), "person_per_day 1001 $7.50 $2.50 $0.00") ||
		!regexp.MustCompile(`RAISE +BUDGET +OF +AMOUNT +STATE +BY +ASKED BY +SINCE +UNTIL\n[0-9a-f]{32} +person_per_day +1001 +\$2\.50 +in force +the operator \(uid \d+\) +20\d\d`).MatchString(list) {
		t.Errorf("raised it lists:\n%s", list)
	}
	id := ids.FindString(list)
	if out := saidOf(t, "approvals", "ls", "-c", config); !strings.Contains(out, id) {
		t.Errorf("approvals ls does not show it: %s", out)
	}
	if out := saidOf(t, "__complete", "budget", "revoke", "-c", config, ""); !strings.HasPrefix(out, id+"\n") {
		t.Errorf("completion offers %q", out)
	}
	if out := saidOf(t, "budget", "revoke", id[:8], "-c", config); out != "taken back: person_per_day of 1001 is lower by $2.50 again\n" {
		t.Errorf("revoke says %q", out)
	}
	var page admin.BudgetPage
	if err := json.Unmarshal([]byte(saidOf(t, "budget", "ls", "--all", "--json", "-c", config)), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Raises) != 1 || page.Raises[0].State != admin.RaiseRevoked || page.Budgets[0].Share == 0 {
		t.Errorf("as JSON: %+v", page)
	}
	if status, _, said := asked(t, "budget", "raise", "turn", "1", "-c", config); status != exitUsage || !strings.Contains(said, "who writes again goes on with a new one") {
		t.Errorf("raise turn ended with %d: %s", status, said)
	}
	if sum() != before {
		t.Error("the configuration was written")
	}
	if found, err := filepath.Glob(filepath.Join(filepath.Dir(config), "*")); err != nil || len(found) != 2 {
		t.Errorf("beside the configuration there is %q, %v", found, err)
	}
}
