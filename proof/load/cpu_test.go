package load

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cpu returns the processor time used by a process and all its descendants, including
// those that have ended.
func cpu(pid int) (time.Duration, error) {
	byParent := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	times := map[int]time.Duration{}
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent ...", where a name may hold anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		parent, _ := strconv.Atoi(fields[1])
		byParent[parent] = append(byParent[parent], id)
		for _, field := range fields[11:15] { // own user and system time, and those of children that ended
			ticks, _ := strconv.ParseInt(field, 10, 64)
			times[id] += time.Duration(ticks) * (time.Second / 100) // USER_HZ
		}
	}
	if _, ok := times[pid]; !ok {
		return 0, fmt.Errorf("there is no process %d", pid)
	}
	sum, family := time.Duration(0), slices.Clone([]int{pid})
	for i := 0; i < len(family); i++ {
		sum += times[family[i]]
		family = append(family, byParent[family[i]]...)
	}
	return sum, nil
}
