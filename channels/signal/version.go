package signal

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/channels/internal/markup"
)

// minVersion is the oldest signal-cli that reads what people write. Since 2026-06-10
// Signal sends envelopes without a serverGuid: older ones confirm such an envelope and
// then fail to read it, and so lose it, while they send and answer as ever
// (AsamK/signal-cli #2059; CHANGELOG 0.14.5).
const minVersion = "0.14.5"

// minForACI is the oldest one in which an account can be named by its ACI.
const minForACI = "0.14.6"

var errTooOldForACI = errors.New("signal-cli before " + minForACI + " identifies accounts by number only; configure the number as account, or install " + minForACI + " or newer")

var errTooOld = errors.New("signal-cli before " + minVersion + " confirms messages to Signal and then loses them (AsamK/signal-cli #2059); install " + minVersion + " or newer. Until then nothing is received, and messages wait at Signal")

var numbersForm = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,6})*`)

// checkVersion refuses a signal-cli that loses messages, or that cannot name an account
// as the configuration does. One that does not say its version in numbers was built by
// somebody who knows, and is taken.
func checkVersion(version, account string) error {
	numbers := numbersForm.FindString(version)
	older := func(than string) bool {
		return numbers != "" && slices.Compare(versionParts(numbers), versionParts(than)) < 0
	}
	switch {
	case older(minVersion):
		return fmt.Errorf("signal-cli %s is too old: %w", markup.Brief(version), errTooOld)
	case older(minForACI) && aciForm.MatchString(account):
		return fmt.Errorf("signal-cli %s is too old: %w", markup.Brief(version), errTooOldForACI)
	}
	return nil
}

func versionParts(version string) (out []int) {
	for s := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(s) // digits, and few
		out = append(out, n)
	}
	return out
}
