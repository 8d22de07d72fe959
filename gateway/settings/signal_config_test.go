package settings

import (
	"slices"
	"testing"

	"parley/gateway/policy"
	"parley/problems"
)

// firstday G6, G7.
func TestSignalConfigValidate(t *testing.T) {
	t.Parallel()
	const number, aci = "+4915550001001", "0d5e2f3a-1b2c-4d3e-8f90-a1b2c3d4e5f6"
	only := func(people ...string) policy.Access { return policy.Access{People: people} }
	group := only(number)
	group.Groups = []string{"Z3JvdXAgICAgICAgICAgICAgICAgICAgICAgICAgICA="}
	for name, c := range map[string]struct {
		config   SignalConfig
		mistakes []string // their keys
	}{
		"a number":                    {SignalConfig{Account: number}, nil},
		"an ACI":                      {SignalConfig{Account: aci}, nil},
		"neither":                     {SignalConfig{Account: "ann"}, []string{"account"}},
		"nothing":                     {SignalConfig{}, []string{"account"}},
		"notes of the account":        {SignalConfig{Account: number, NoteToSelf: true, Common: Common{Access: only(number)}}, nil},
		"notes of its ACI":            {SignalConfig{Account: number, ACI: aci, NoteToSelf: true, Common: Common{Access: only(aci)}}, nil},
		"notes of nobody":             {SignalConfig{Account: number, NoteToSelf: true}, []string{"note_to_self"}},
		"notes of somebody else":      {SignalConfig{Account: number, NoteToSelf: true, Common: Common{Access: only(aci)}}, []string{"note_to_self"}},
		"notes beside a group":        {SignalConfig{Account: number, NoteToSelf: true, Common: Common{Access: group}}, []string{"access.groups"}},
		"a group, and no notes of it": {SignalConfig{Account: number, Common: Common{Access: group}}, nil},
	} {
		var got []string
		var ps problems.List
		ps.Check("", c.config.Validate(Config{StateDir: "/var/lib/parley"}, "phone"))
		for _, p := range ps {
			got = append(got, p.Path)
			t.Log(name+":", p)
		}
		if !slices.Equal(got, c.mistakes) {
			t.Errorf("%s: mistakes in %q, want %q", name, got, c.mistakes)
		}
	}
}
