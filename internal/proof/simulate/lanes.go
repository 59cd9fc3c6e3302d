package simulate

import (
	"sync"
	"time"
)

// Lanes make runs repeatable. Two goroutines that wake at one instant run in an order
// that nobody fixes, so none do: each kind of work of each node has a lane, which is a
// remainder of the nanosecond it wakes at, and no two wake at one instant of a lane.
// Whole milliseconds are a multiple of laneCount nanoseconds, so what the keeper and
// the generator wait for by themselves stays in the lane that it began in.
const (
	laneCount = 64
	faultLane = 0 // the plan's own
)

// What a node does in its lanes.
const (
	replyLane   = iota // replies arrive, and the keeper wakes
	requestLane        // requests arrive at the store
	useLane            // ids are used
	lifeLane           // processes start and stop
	workerLanes        // how many there are with worker ids

	sqlReplyLane   = iota - 1 // with numbers besides: those to and from a database
	sqlRequestLane            //
	retryLane                 // an Issuer asks again
	installLane               // a dispenser's other call of Redis
	numberLanes
)

type lanes struct {
	start   time.Time
	perNode int
	mu      sync.Mutex
	used    map[int64]struct{} // instants that somebody wakes at
}

func (l *lanes) lane(node, what int) int { return 1 + node*l.perNode + what }

// maxNodes is how many nodes there are lanes for.
func (l *lanes) maxNodes() int { return (laneCount - 1) / l.perNode }

func (l *lanes) now() time.Duration { return time.Since(l.start) }

// after returns how long to wait for the first free instant of a lane that is at least
// d from now, and takes it.
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

// take keeps others from an instant that the product chose.
func (l *lanes) take(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[int64(at.Sub(l.start))] = struct{}{}
}
