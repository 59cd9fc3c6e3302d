package console

import "fmt"

// draw makes the cells of the map. A cell for several worker ids shows the one that is
// least free.
func (p *pool) draw(all []slot) {
	if p.Size == 0 {
		return
	}
	p.Shared = (p.Size + maxCells - 1) / maxCells
	rank := map[string]int{mine: 4, lent: 3, waiting: 2, lapsed: 1, spare: 1, free: 0}
	class := map[string]string{mine: "mine", lent: "lent", waiting: "waiting", spare: "waiting", lapsed: "lapsed", free: "free"}
	for first := 0; first < p.Size; first += p.Shared {
		group := all[first:min(p.Size, first+p.Shared)]
		worst, used := group[0], 0
		for _, s := range group {
			if rank[s.State] > rank[worst.State] {
				worst = s
			}
			if rank[s.State] > rank[lapsed] {
				used++
			}
		}
		title := fmt.Sprintf("worker %d: %s", worst.Worker, worst.State)
		if worst.Holder != "" {
			title += ", " + worst.Holder
		}
		if len(group) > 1 {
			title = fmt.Sprintf("workers %d to %d: %d in use", group[0].Worker, group[len(group)-1].Worker, used)
		}
		p.Cells = append(p.Cells, cell{Class: class[worst.State], Title: title, Worker: group[0].Worker})
	}
}
