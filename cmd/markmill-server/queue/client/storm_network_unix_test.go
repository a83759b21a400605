//go:build unix

package client

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// host is a network namespace, whose interface is the end of a cable to the switch.
type host struct {
	ip, cable string
	holder    *exec.Cmd
}

// inside is what a command line begins with to run on the host.
func (h *host) inside() []string {
	return []string{"nsenter", "-t", strconv.Itoa(h.holder.Process.Pid), "-n"}
}

const switchIP = "10.77.0.1"

// connect makes six hosts and their switch. The switch is in the namespace of this process, which another one of the
// same test has started there: the machine's own network is left alone. It returns false where that one has done all.
func (s *storm) connect() bool {
	if os.Getenv("MARKMILL_STORM_PROGRAMS") == "" {
		s.elsewhere()
		return false
	}
	s.sh("ip", "link", "set", "lo", "up")
	s.sh("ip", "link", "add", "switch", "type", "bridge")
	s.sh("ip", "addr", "add", switchIP+"/24", "dev", "switch")
	s.sh("ip", "link", "set", "switch", "up")
	for i := range 6 {
		h := &host{ip: fmt.Sprintf("10.77.0.%d", 11+i), cable: fmt.Sprintf("cable%d", i)}
		h.holder = exec.Command("unshare", "-n", "sleep", "4h") // becomes sleep
		if err := h.holder.Start(); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { s.end(h.holder) })
		pid := strconv.Itoa(h.holder.Process.Pid)
		own, err := os.Readlink("/proc/self/ns/net")
		for begin := time.Now(); err == nil; time.Sleep(time.Millisecond) {
			if its, _ := os.Readlink("/proc/" + pid + "/ns/net"); its != "" && its != own { // after unshare
				break
			}
			if time.Since(begin) > 10*time.Second {
				s.Fatal("unshare -n makes no network namespace")
			}
		}
		s.sh("ip", "link", "add", h.cable, "type", "veth", "peer", "name", "eth0", "netns", pid)
		s.sh("ip", "link", "set", h.cable, "master", "switch", "up")
		in := func(words string) { s.sh(append(h.inside(), strings.Fields(words)...)...) }
		in("ip link set lo up")
		in("ip addr add " + h.ip + "/24 dev eth0")
		in("ip link set eth0 up")
		s.hosts = append(s.hosts, h)
	}
	s.slow(s.hosts[5])
	return true
}

// slow makes the cable of a host slow in both directions: netem delays, where the kernel has it, and a token bucket
// lets 2 Mbit/s through, where it has not.
func (s *storm) slow(h *host) {
	for _, words := range [][]string{append(h.inside(), "tc", "qdisc", "add", "dev", "eth0"),
		{"tc", "qdisc", "add", "dev", h.cable}} {
		netem := exec.Command(words[0], append(words[1:], "root", "netem", "delay", "40ms", "10ms", "rate", "2mbit")...)
		if err := netem.Run(); err != nil {
			s.sh(append(words, "root", "tbf", "rate", "2mbit", "burst", "4kb", "latency", "2s")...)
		}
	}
}

// elsewhere runs this test in a network namespace of its own.
func (s *storm) elsewhere() {
	for _, program := range []string{"unshare", "nsenter", "ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			s.Skip("no network namespaces: there is no " + program)
		}
	}
	if out, err := exec.Command("unshare", "-n", "ip", "link", "add", "switch", "type",
		"bridge").CombinedOutput(); err != nil {
		s.Skipf("no network namespaces with bridges can be made here (as root, with CAP_NET_ADMIN): %s", out)
	}
	cmd := exec.Command("unshare", "-n", os.Args[0], "-test.v", "-test.run=^TestStorm$/^network$", "-test.timeout=4h")
	cmd.Env = append(os.Environ(), "MARKMILL_STORM_PROGRAMS="+s.bin)
	out, err := cmd.CombinedOutput()
	s.Logf("%s", out)
	if err != nil || strings.Contains(string(out), "--- SKIP") {
		s.Fatalf("in a network namespace: %v", err)
	}
}

func (s *storm) sh(words ...string) {
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		s.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// cut takes the cable of a worker or of a server away, and puts it back when leases are over.
func (s *storm) cut() {
	n := rand.IntN(len(s.hosts))
	what := "workers cut off"
	if n < len(s.servers) {
		what = "servers cut off"
		n = 0 // never two of three at once
	}
	h := s.hosts[n]
	s.sh("ip", "link", "set", h.cable, "nomaster")
	s.struck[what]++
	time.Sleep(stormLease + stormLease*time.Duration(rand.IntN(3))/2)
	s.sh("ip", "link", "set", h.cable, "master", "switch")
}
