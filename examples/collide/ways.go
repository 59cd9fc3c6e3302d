package main

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

const workerIDs = 1024

// A way chooses the worker ids of n processes. chance is the probability that two of them
// are equal.
type way struct {
	name   string
	choose func(r *rand.Rand, n int) []int64
	chance func(n int) float64
}

func ways() []way {
	certain := func(int) float64 { return 1 }
	return []way{
		{"a constant", constant, certain},
		{"10 random bits", random, birthday},
		{"hash of host and pid % 1024", hash, birthday},
		{"last 10 bits of the IPv4 address", address, twoSubnets},
		{"pod ordinal, in two clusters", ordinal, certain},
		{"Redis INCR % 1024, then a flush", counter, twoIntervals},
	}
}

func constant(_ *rand.Rand, n int) []int64 {
	return list(n, func(int) int64 { return 1 })
}

func random(r *rand.Rand, n int) []int64 {
	return list(n, func(int) int64 { return r.Int64N(workerIDs) })
}

// birthday is the chance that two of n random worker ids are equal.
func birthday(n int) float64 {
	none := 1.0
	for i := range n {
		none *= 1 - float64(i)/workerIDs
	}
	return 1 - none
}

// hash hashes the names of pods of a Kubernetes Deployment. In a container the pid is 1.
func hash(r *rand.Rand, n int) []int64 {
	return list(n, func(int) int64 {
		suffix := make([]byte, 5)
		for i := range suffix {
			const letters = "bcdfghjklmnpqrstvwxz2456789"
			suffix[i] = letters[r.IntN(len(letters))]
		}
		h := fnv.New32a()
		fmt.Fprintf(h, "orders-5d4f8c7b96-%s:%d", suffix, 1)
		return int64(h.Sum32() % workerIDs)
	})
}

// address gives half of the processes addresses of 10.0.0.0/24, and half of 10.0.16.0/24.
func address(r *rand.Rand, n int) []int64 {
	first, second := r.Perm(254), r.Perm(254)
	return list(n, func(i int) int64 {
		ip := []byte{10, 0, 0, byte(1 + first[i/2])}
		if i%2 == 1 {
			ip = []byte{10, 0, 16, byte(1 + second[i/2])}
		}
		return int64(binary.BigEndian.Uint32(ip) % workerIDs)
	})
}

// twoSubnets is the chance that a host number of the second subnet is one of the first.
func twoSubnets(n int) float64 {
	none := 1.0
	for i := range n / 2 {
		none *= 1 - float64(n/2)/float64(254-i)
	}
	return 1 - none
}

// ordinal numbers the pods of each of two clusters from 0.
func ordinal(_ *rand.Rand, n int) []int64 {
	return list(n, func(i int) int64 { return int64(i / 2) })
}

// counter starts half of the processes before the flush, with the counter anywhere, and half
// of them after it.
func counter(r *rand.Rand, n int) []int64 {
	before := r.IntN(workerIDs)
	return list(n, func(i int) int64 {
		if i < n/2 {
			return int64((before + i + 1) % workerIDs)
		}
		return int64(i - n/2 + 1)
	})
}

// twoIntervals is the chance that two intervals of n/2 worker ids overlap on the circle.
func twoIntervals(n int) float64 { return float64(n-1) / workerIDs }

func list(n int, element func(i int) int64) []int64 {
	l := make([]int64, n)
	for i := range l {
		l[i] = element(i)
	}
	return l
}
