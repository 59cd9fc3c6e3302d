package load

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// cpu returns the processor time used by the processes of a server, which have its folder or its
// address in their command lines, and by all their descendants, including those that have ended.
func cpu(s *testserver.Server) (time.Duration, error) {
	byParent, family := map[int][]int{}, []int{}
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
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
		if bytes.Contains(line, []byte(filepath.Dir(s.Dir())+"/")) || bytes.Contains(line, []byte(s.Addr())) {
			family = append(family, id)
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
	if len(family) == 0 {
		return 0, fmt.Errorf("there is no process of %s", s.Addr())
	}
	sum := time.Duration(0)
	for i := 0; i < len(family); i++ {
		sum += times[family[i]]
		delete(times, family[i]) // a child may stand there twice
		family = append(family, byParent[family[i]]...)
	}
	return sum, nil
}
