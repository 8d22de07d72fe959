package faulttest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/gateway/faulttest"
)

// mutation takes one guard out of the code.
type mutation struct {
	guard string
	file  string // from the module's root
	old   string // stands in it once
	by    string
	pkg   string // whose test must fail
	test  string
}

var mutations = []mutation{
	{
		"the epoch check: a write of a worker that was taken over from changes nothing",
		"sessions/sqlite/mailbox.go", "	if !found || !b.heldBy(f) {", "	if !found {",
		"./sessions/sqlite", "TestTheStoreKeepsWhatSessionsPromise",
	},
	{
		"the inbox: an event that was taken into a turn is known",
		"sessions/sqlite/inbox.go", "	return known, nil\n}\n\n// Known implements", "	return false && known, nil\n}\n\n// Known implements",
		"./sessions/sqlite", "TestTheStoreKeepsWhatSessionsPromise",
	},
	{
		"confirm after store: the network is told when the message is on disk",
		"gateway/intake/intake.go",
		"	faultpoint.Hit(\"intake.publish.before\")\n	_, err = i.Log.Publish(ctx, broker.Envelope{ID: eventID(m), Token: key.Token(), Key: key.String(), Body: body})\n",
		"	go func() {\n		faultpoint.Hit(\"intake.publish.before\")\n		_, _ = i.Log.Publish(context.WithoutCancel(ctx), broker.Envelope{ID: eventID(m), Token: key.Token(), Key: key.String(), Body: body})\n	}()\n",
		"./gateway/faulttest", "TestKilledAtAnyMomentNothingAcceptedIsLost/embedded",
	},
	{
		"the outbox mark: a part is noted as sending before its bytes leave",
		"gateway/delivery/send.go", "	p := sessions.Progress{Marks: []sessions.Mark{m}}", "	p := sessions.Progress{}",
		"./gateway/faulttest", "TestKilledBetweenSendAndReceiptTheAnswerIsRepeatedOnceAndMarked/embedded",
	},
	{
		"the visible mark of a repeat",
		"gateway/delivery/send.go", "Repeat: repeats(d.Parts[i]) > 0,", "Repeat: false && repeats(d.Parts[i]) > 0,",
		"./gateway/faulttest", "TestKilledBetweenSendAndReceiptTheAnswerIsRepeatedOnceAndMarked/embedded",
	},
	{
		"the note that a tool began: what may have happened does not happen again",
		"sessions/sqlite/turns.go", "		return epoch != f.Epoch || nonce != f.Nonce, err", "		return false && (epoch != f.Epoch || nonce != f.Nonce), err",
		"./gateway/faulttest", "TestKilledInTheMiddleOfAToolItsEffectIsThereOnceAtMost/embedded",
	},
	{
		"each answer of the model is committed as it comes: it is not paid again",
		"sessions/journal.go", "	return j.committed(j.Store.Settle(ctx, j.Fence, s, ms...), ms)", "	return j.committed(j.Store.Settle(ctx, j.Fence, s), ms)",
		"./gateway/faulttest", "TestKilledAtEveryPointNothingIsLostAndNothingTwice/cluster",
	},
	{
		"a call of the model is written down before it is made",
		"sessions/journal.go", "	return r, j.Store.Reserve(ctx, j.Fence, c, r)", "	return r, nil",
		"./gateway/faulttest", "TestKilledInTheMiddleOfAnAnswerItIsAskedForAgainAndGivenOnce/embedded",
	},
}

// root is the module's folder.
const root = "../.."

// Each guard, taken out of the code, turns the named test red. In make test only
// that the guards are where the table says. (docs/reliability.md)
func TestEachGuardThatIsTakenOutTurnsATestRed(t *testing.T) {
	t.Parallel()
	for _, m := range slices.Concat(mutations, slackMutations, signalMutations) {
		t.Run(m.guard, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(filepath.Join(root, m.file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), m.old); n != 1 {
				t.Fatalf("%s has the guard %d times:\n%s", m.file, n, m.old)
			}
			if !faulttest.Long() {
				return
			}
			m.run(t, path, strings.Replace(string(text), m.old, m.by, 1))
		})
	}
}

// run runs the test with the file at path replaced.
func (m mutation) run(t *testing.T, path, text string) {
	t.Helper()
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(mutant, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-run", "^" + strings.ReplaceAll(m.test, "/", "$/^") + "$", m.pkg}
	if strings.HasPrefix(m.pkg, "./sessions/") {
		args = append(args, "-rapid.nofailfile") // it is meant to fail
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	// Of the tests of this package also the binary is built with it.
	cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay, "PARLEY_LONG=")
	out, err := cmd.CombinedOutput()
	name, _, _ := strings.Cut(m.test, "/")
	if err == nil || !strings.Contains(string(out), "--- FAIL: "+name) {
		t.Errorf("without the guard %s still passes, or does not run: %v\n%s", m.test, err, out)
		return
	}
	for line := range strings.Lines(string(out)) {
		for _, kind := range []faulttest.Kind{
			faulttest.Lost, faulttest.Duplicated, faulttest.Half, faulttest.Disordered, faulttest.Stray,
			faulttest.History, faulttest.Doubled, faulttest.Repaid, faulttest.Effect, faulttest.Money,
		} {
			if strings.HasPrefix(strings.TrimSpace(line), string(kind)+": ") {
				t.Logf("%s", strings.TrimSpace(line))
			}
		}
	}
}
