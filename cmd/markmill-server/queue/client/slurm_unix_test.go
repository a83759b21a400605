//go:build unix

package client

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
)

// slurm submits workers to Slurm, whose daemons run here on the loopback interface with a configuration of their own.
// They drain the queue and end; one of them is canceled meanwhile.
func (s *storm) slurm() {
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			s.Skip("there is no " + program)
		}
	}
	s.prepare()
	defer s.log.Close()
	s.startSlurm()
	s.ports, s.servers = []string{freePort(s.T), ""}, make([]*exec.Cmd, 1)
	s.servers[0] = s.startServer(0)
	defer func() { s.end(s.servers[0]) }()
	s.answers(s.address(0))

	p := s.client("submit")
	defer p.Queue.Close()
	base := strings.TrimSpace(s.git("-C", s.root, "rev-parse", "HEAD"))
	const jobs = 9
	for i := range jobs {
		spec := &queue.Spec{ID: fmt.Sprintf("job-%d", i), Queue: "default", Priority: queue.Normal, Base: base,
			By:      "storm",
			Request: engine.Request{Path: "storm.md", Source: []byte(stormNotebook)}}
		if _, _, err := p.Queue.Submit(s.Context(), spec, time.Now()); err != nil {
			s.Fatal(err)
		}
	}
	launch := exec.Command(filepath.Join(s.bin, "markmill"), "queue", "worker", "--launch", "slurm",
		"--launch-count", "3",
		"--lease", stormLease.String(), "--", "--parsable", "--output", filepath.Join(s.dir, "worker%a"))
	launch.Dir, launch.Stderr = s.root, s.log
	launch.Env = append(os.Environ(), "MARKMILL_NATS=nats://worker:hush-hush@"+s.address(0))
	out, err := launch.Output()
	if err != nil {
		s.Fatalf("%v\n%s", err, s.said())
	}
	id := strings.TrimSpace(string(out))
	s.until("a worker of Slurm has a job", func() bool { return s.says(filepath.Join(s.dir, "worker2"), "run ") })
	script := s.slurmSays("scontrol", "write", "batch_script", id+"_2", "-")
	if strings.Contains(script, "hush-hush") || !strings.Contains(script, "'worker' '--drain'") {
		s.Errorf("the script shows the password, or does not drain:\n%s", script)
	}
	s.slurmSays("scancel", id+"_2")
	s.struck = map[string]int{"workers canceled": 1}
	s.check(jobs)
	s.until("the workers have ended", func() bool { return s.slurmSays("squeue", "--noheader") == "" })
	for _, worker := range []string{"worker1", "worker3"} {
		if !s.says(filepath.Join(s.dir, worker), "completed") {
			s.Errorf("%s has completed no job", worker)
		}
	}
}

// startSlurm starts the daemons, which end with the test.
func (s *storm) startSlurm() {
	name, err := os.Hostname()
	if err != nil {
		s.Fatal(err)
	}
	name, _, _ = strings.Cut(name, ".")
	dir := filepath.Join(s.dir, "slurm")
	for _, sub := range []string{"", "state", "spool"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			s.Fatal(err)
		}
	}
	conf := strings.NewReplacer("@D@", dir, "@H@", name, "@CTLD@", freePort(s.T), "@D_PORT@", freePort(s.T)).Replace(
		`ClusterName=storm
SlurmctldHost=@H@(127.0.0.1)
SlurmctldPort=@CTLD@
SlurmdPort=@D_PORT@
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket=@D@/munge
CredType=cred/munge
SlurmUser=root
StateSaveLocation=@D@/state
SlurmdSpoolDir=@D@/spool
SlurmctldPidFile=@D@/slurmctld.pid
SlurmdPidFile=@D@/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
KillWait=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=@H@ NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
`)
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // never fails
	for path, text := range map[string][]byte{"slurm.conf": []byte(conf), "key": key} {
		if err := os.WriteFile(filepath.Join(dir, path), text, 0o400); err != nil {
			s.Fatal(err)
		}
	}
	s.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	for _, daemon := range [][]string{
		{"munged", "--foreground", "--force", "--key-file=" + dir + "/key", "--socket=" + dir + "/munge",
			"--pid-file=" + dir + "/munged.pid", "--log-file=" + dir + "/munged.log", "--seed-file=" + dir + "/seed"},
		{"slurmctld", "-D", "-i"},
		{"slurmd", "-D"},
	} {
		cmd := exec.Command(daemon[0], daemon[1:]...)
		cmd.Stdout, cmd.Stderr = s.log, s.log
		if err := cmd.Start(); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
		if daemon[0] == "munged" {
			s.appears(dir + "/munge")
		}
	}
	s.until("the machine of Slurm is idle", func() bool {
		out, err := exec.Command("sinfo", "--noheader", "--format=%T").Output()
		return err == nil && strings.TrimSpace(string(out)) == "idle"
	})
}

func (s *storm) slurmSays(words ...string) string {
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %v\n%s\n%s", words, err, out, s.said())
	}
	return strings.TrimSpace(string(out))
}

// says reports whether a file has some words.
func (s *storm) says(path, words string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(text), words)
}
