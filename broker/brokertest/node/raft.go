package main

import (
	"errors"
	"time"
	_ "unsafe" // for go:linkname: the server has no options for these times
)

// The times by which the servers of a cluster choose their leaders: variables of
// the server's package, which its own tests set short too. As they are, a leader
// is missed for 4 to 9 seconds before the others vote; a cluster begins with
// that wait, and has it again whenever a server is killed.
//
//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
//go:linkname minCampaignTimeout github.com/nats-io/nats-server/v2/server.minCampaignTimeout
//go:linkname maxCampaignTimeout github.com/nats-io/nats-server/v2/server.maxCampaignTimeout
//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
//go:linkname lostQuorumInterval github.com/nats-io/nats-server/v2/server.lostQuorumInterval
//go:linkname lostQuorumCheck github.com/nats-io/nats-server/v2/server.lostQuorumCheck
var (
	minElectionTimeout, maxElectionTimeout time.Duration
	minCampaignTimeout, maxCampaignTimeout time.Duration
	hbInterval                             time.Duration
	lostQuorumInterval, lostQuorumCheck    time.Duration
)

// shortenTimeouts makes all of these times a fifth, so that their proportions stay. It
// is called before there is a server. Returns an error if the server has no
// such variables any more.
func shortenTimeouts() error {
	for _, d := range []*time.Duration{
		&minElectionTimeout, &maxElectionTimeout, &minCampaignTimeout, &maxCampaignTimeout,
		&hbInterval, &lostQuorumInterval, &lostQuorumCheck,
	} {
		if *d == 0 {
			return errors.New("times of elections: this nats-server has other names for them")
		}
		*d /= 5
	}
	return nil
}
