package simulate

import (
	"sync"
	"time"
)

// Lanes make runs repeatable. The runtime does not fix the order of two goroutines that
// wake at the same instant, so no two do. Each kind of work of each node has a lane: a
// remainder of the nanosecond it wakes at. Each instant of a lane is used once.
//
// A whole millisecond is a multiple of laneCount nanoseconds, so the keeper and the
// generator stay in the lane they began in.
const (
	laneCount = 64
	faultLane = 0 // the plan's own
)

// The lanes of a node.
const (
	replyLane   = iota // replies arrive, and the keeper wakes
	requestLane        // requests arrive at the store
	useLane            // ids are used
	lifeLane           // processes start and stop
	workerLanes        // how many lanes a node has with worker ids

	sqlReplyLane   = iota - 1 // with numbers: replies and requests of a database
	sqlRequestLane            //
	retryLane                 // an Issuer retries
	installLane               // a dispenser's second call of Redis
	numberLanes
)

type lanes struct {
	start   time.Time
	perNode int
	mu      sync.Mutex
	used    map[int64]struct{} // instants at which something wakes
}

func (l *lanes) lane(node, what int) int { return 1 + node*l.perNode + what }

// maxNodes returns how many nodes have lanes.
func (l *lanes) maxNodes() int { return (laneCount - 1) / l.perNode }

func (l *lanes) now() time.Duration { return time.Since(l.start) }

// after returns how long to wait for the first free instant of a lane that is at least
// d away, and takes that instant.
func (l *lanes) after(lane int, d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := int64(l.now())
	at := now + max(1, int64(d))
	at += (int64(lane) - at%laneCount + laneCount) % laneCount
	for {
		if _, taken := l.used[at]; !taken {
			break
		}
		at += laneCount
	}
	l.used[at] = struct{}{}
	return time.Duration(at - now)
}

// take reserves an instant that the product chose.
func (l *lanes) take(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[int64(at.Sub(l.start))] = struct{}{}
}
