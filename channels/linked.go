package channels

import "context"

// LinkedAccount is a channel whose bot account is a person's account for its network, with
// groups that it is in, keys of people that it has seen, and devices. It is looked after
// through the channel, because no other program may have it open meanwhile.
type LinkedAccount interface {
	// Groups lists the groups that the account is in or invited to.
	Groups(ctx context.Context) ([]Group, error)
	// Keys lists the keys of people that the account has seen.
	Keys(ctx context.Context) ([]PeerKey, error)
	// Trust trusts the key that a person has now, by its safety number.
	Trust(ctx context.Context, person, safetyNumber string) error
	// Link makes this machine a device of an account: show gets the address that the
	// telephone scans; the result names the account.
	Link(ctx context.Context, device string, show func(uri string) error) (account string, err error)
}

// Group is a group that an account is in or invited to.
type Group struct {
	ID      string `json:"id"`
	Name    string `json:"name"` // as its members chose it, on one line
	Member  bool   `json:"member"`
	Invited bool   `json:"invited"`
	Members int    `json:"members"`
}

// PeerKey is the identity key of a person who wrote to an account or was written to.
type PeerKey struct {
	Person       string `json:"person"` // the network's stable id
	Number       string `json:"number,omitempty"`
	SafetyNumber string `json:"safety_number"` // that they see of the account
	Trust        string `json:"trust"`         // in the network's words
}
