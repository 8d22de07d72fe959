package signal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley/channels/internal/markup"
)

// Why a configuration is refused.
var (
	errAccount = errors.New("an account is the bot's own number with its country, such as +491511234567, or its ACI, such as 6f1c2d7a-8f9e-4c36-9a42-0b1c2d3e4f50")
	errACI     = errors.New("an ACI is a UUID, such as 6f1c2d7a-8f9e-4c36-9a42-0b1c2d3e4f50")
	errTrust   = errors.New("trust_new_identities is on-first-use, always or never")
	errURL     = errors.New("the address of a signal-cli daemon is http(s)://host[:port], unix:///path or tcp://host:port, without a password")
)

var (
	numberForm = regexp.MustCompile(`^\+[0-9]{5,15}$`)
	aciForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// CheckAccount reports whether s can name an account, by its number or its ACI.
func CheckAccount(s string) error {
	if !numberForm.MatchString(s) && !aciForm.MatchString(s) {
		return errAccount
	}
	return nil
}

// CheckACI reports whether s can be an ACI; empty is none.
func CheckACI(s string) error {
	if s != "" && !aciForm.MatchString(s) {
		return errACI
	}
	return nil
}

// CheckTrust reports whether s says what becomes of new keys; empty is the default.
func CheckTrust(s string) error {
	if s != "" && !slices.Contains([]string{"on-first-use", "always", "never"}, s) {
		return errTrust
	}
	return nil
}

// CheckURL reports whether s can be where a daemon is; empty is none.
func CheckURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(strings.TrimRight(s, "/"))
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errURL // err would quote the address, and with it a password
	}
	switch {
	case u.Scheme == "unix" && u.Host == "" && filepath.IsAbs(u.Path),
		u.Scheme == "tcp" && u.Hostname() != "" && u.Port() != "" && u.Path == "",
		(u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "":
		return nil
	}
	return errURL
}

// CheckDir reports whether dir can be the folder of an account: the path of the
// socket in it must not be too long for the system.
func CheckDir(dir string) error {
	// Linux: sockaddr_un has room for 107 bytes and a zero.
	if len(socketPath(dir)) > 107 {
		return fmt.Errorf("%w: %s", errSocket, socketPath(dir))
	}
	return nil
}

func socketPath(dir string) string { return filepath.Join(dir, "rpc.sock") }

// CheckPerson reports whether id can be a person's: an ACI, or a number that stands
// for one.
func CheckPerson(id string) error {
	switch {
	case numberForm.MatchString(id):
		return nil
	case !aciForm.MatchString(id):
		return fmt.Errorf("%q is no id of Signal: a person's is an ACI such as 6f1c2d7a-8f9e-4c36-9a42-0b1c2d3e4f50, or a number such as +491511234567", markup.Brief(id))
	case id != strings.ToLower(id):
		return fmt.Errorf("write the ACI in lower case: %s", strings.ToLower(id))
	}
	return nil
}

// CheckGroup reports whether id can be a group's. Its case matters.
func CheckGroup(id string) error {
	raw, err := base64.StdEncoding.DecodeString(id)
	if err != nil || len(raw) != 32 && len(raw) != 16 {
		return fmt.Errorf("%q is no id of a Signal group, which is 44 characters of base64 as parley signal groups shows it", markup.Brief(id))
	}
	return nil
}
