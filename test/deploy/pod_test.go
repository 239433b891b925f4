//go:build e2e

package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/orch-project/orch/test/e2e"
)

// TestPod runs the pod that the chart describes without values, from the image in the release of ORCH_TEST_RELEASE, by `podman kube play`.
// It reads each probe, checks how the engine confines the container, runs a flow by the API, and starts the pod again on its volume.
func TestPod(t *testing.T) {
	dist := os.Getenv("ORCH_TEST_RELEASE")
	if dist == "" {
		t.Skip("ORCH_TEST_RELEASE is not set: make e2e-kubernetes sets it")
	}
	if out, err := exec.CommandContext(t.Context(), "podman", "info").CombinedOutput(); err != nil {
		t.Skipf("podman does not run here, install the package podman: %s\n%s", err, out)
	}
	p := newPlayed(t, dist)
	p.play(true)
	p.requireConfined()

	var flow, run struct{ ID string }
	p.call(http.MethodPost, "/flows/", `{"name": "pod"}`, &flow)
	p.call(http.MethodPost, "/flow_runs/", fmt.Sprintf(`{"flow_id": %q, "name": "first", "state": {"type": "SCHEDULED"}}`, flow.ID), &run)
	for _, state := range []string{"PENDING", "RUNNING", "COMPLETED"} {
		var result struct{ Status string }
		p.call(http.MethodPost, "/flow_runs/"+run.ID+"/set_state", fmt.Sprintf(`{"state": {"type": %q}}`, state), &result)
		require.Equal(t, "ACCEPT", result.Status, state)
	}

	p.down()
	p.play(false)
	var stored struct {
		Name  string
		State struct{ Type string }
	}
	p.call(http.MethodGet, "/flow_runs/"+run.ID, "", &stored)
	require.Equal(t, "first", stored.Name)
	require.Equal(t, "COMPLETED", stored.State.Type)
}

// played is the pod of the chart's StatefulSet in podman. The test is its controller: it makes the pod and the claims of the template, and
// does what the kubelet does with secrets and probes, because podman runs probes by a program that the image does not have.
type played struct {
	*testing.T
	pod      *corev1.Pod
	config   *corev1.ConfigMap
	claims   []corev1.PersistentVolumeClaim
	probes   []*corev1.Probe
	password string
	// addresses are the published ones by the names of the ports.
	addresses map[string]string
}

func newPlayed(t *testing.T, dist string) *played {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dist, "orch_*_oci.tar"))
	require.NoError(t, err)
	require.Len(t, archives, 1)
	image := regexp.MustCompile(`localhost/orch:(\S+)`).FindStringSubmatch(command(t, dist, "podman", "load", "--input", archives[0]))
	require.NotNil(t, image, "podman names the image that it loads")
	rendered, err := render(t, map[string]any{"image": map[string]any{"registry": "localhost", "tag": image[1]}})
	require.NoError(t, err)
	all := decode(t, rendered)
	set, secret := named[*appsv1.StatefulSet](all)["orch"], named[*corev1.Secret](all)["orch"]
	p := &played{T: t, config: named[*corev1.ConfigMap](all)["orch"], password: string(secret.Data["auth-basic"]), addresses: map[string]string{}}

	p.pod = &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Labels: set.Spec.Template.Labels}, // podman refuses annotations of more than 63 bytes.
		Spec:       set.Spec.Template.Spec,
	}
	p.config.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	container := &p.pod.Spec.Containers[0]
	for i := range container.Ports {
		host, port, err := net.SplitHostPort(e2e.FreeAddress(t))
		require.NoError(t, err)
		number, err := strconv.ParseInt(port, 10, 32)
		require.NoError(t, err)
		container.Ports[i].HostIP, container.Ports[i].HostPort = host, int32(number)
		p.addresses[container.Ports[i].Name] = net.JoinHostPort(host, port)
	}
	p.pod.Name = "orch-e2e-" + strconv.Itoa(int(container.Ports[0].HostPort)) + "-0"
	for i := range container.Env {
		if source := container.Env[i].ValueFrom; source != nil {
			container.Env[i].Value, container.Env[i].ValueFrom = string(secret.Data[source.SecretKeyRef.Key]), nil
		}
	}
	p.probes = []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe}
	container.StartupProbe, container.LivenessProbe, container.ReadinessProbe = nil, nil, nil
	for _, claim := range set.Spec.VolumeClaimTemplates {
		name := claim.Name
		claim.Name += "-" + p.pod.Name
		claim.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		p.claims = append(p.claims, claim)
		p.pod.Spec.Volumes = append(p.pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}})
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs, err := exec.Command("podman", "logs", "--tail", "50", p.container()).CombinedOutput()
			t.Logf("%v\n%s", err, logs)
		}
		_ = exec.Command("podman", "pod", "rm", "--force", p.pod.Name).Run() // Nothing remains to be reported.
		for _, claim := range p.claims {
			_ = exec.Command("podman", "volume", "rm", claim.Name).Run()
		}
	})
	return p
}

// container is the name that podman gives the container.
func (p *played) container() string { return p.pod.Name + "-" + p.pod.Spec.Containers[0].Name }

// play starts the pod, with new volumes or on its own, and waits until the probes succeed.
func (p *played) play(first bool) {
	p.Helper()
	objects := []runtime.Object{p.config, p.pod}
	if first {
		for i := range p.claims {
			objects = append([]runtime.Object{&p.claims[i]}, objects...)
		}
	}
	var manifest bytes.Buffer
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		require.NoError(p, err)
		fmt.Fprintf(&manifest, "---\n%s", text)
	}
	cmd := exec.CommandContext(p.Context(), "podman", "kube", "play", "-")
	cmd.Stdin = &manifest
	out, err := cmd.CombinedOutput()
	require.NoError(p, err, "%s", out)
	began := time.Now()
	for _, probe := range p.probes {
		ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
		require.NoError(p, e2e.WaitFor(ctx, "http://"+p.addresses[probe.HTTPGet.Port.StrVal]+probe.HTTPGet.Path, http.StatusOK))
		cancel()
	}
	p.Logf("ready after %s", time.Since(began).Round(10*time.Millisecond))
}

// down stops the pod as the kubelet does, and removes it. Its volumes stay.
func (p *played) down() {
	p.Helper()
	command(p.T, ".", "podman", "pod", "stop", "--time", strconv.FormatInt(*p.pod.Spec.TerminationGracePeriodSeconds, 10), p.pod.Name)
	command(p.T, ".", "podman", "pod", "rm", p.pod.Name)
}

// requireConfined compares the container with the security context and the limits of the pod.
func (p *played) requireConfined() {
	p.Helper()
	var found []struct {
		EffectiveCaps []string
		Config        struct{ User string }
		HostConfig    struct {
			ReadonlyRootfs bool
			Memory         int64
			SecurityOpt    []string
		}
	}
	require.NoError(p, json.Unmarshal([]byte(command(p.T, ".", "podman", "inspect", p.container())), &found))
	require.Len(p, found, 1)
	security := p.pod.Spec.SecurityContext
	require.Equal(p, fmt.Sprintf("%d:%d", *security.RunAsUser, *security.RunAsGroup), found[0].Config.User)
	require.Empty(p, found[0].EffectiveCaps)
	require.True(p, found[0].HostConfig.ReadonlyRootfs)
	require.Equal(p, p.pod.Spec.Containers[0].Resources.Limits.Memory().Value(), found[0].HostConfig.Memory)
	require.Contains(p, found[0].HostConfig.SecurityOpt, "no-new-privileges")
}

// call sends a request with the password of the chart's Secret, and decodes the response.
func (p *played) call(method, path, body string, response any) {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), method, "http://"+p.addresses["http"]+"/api"+path, strings.NewReader(body))
	require.NoError(p, err)
	user, password, _ := strings.Cut(p.password, ":")
	request.SetBasicAuth(user, password)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(p, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(p, err)
	require.Less(p, answer.StatusCode, http.StatusMultipleChoices, "%s %s: %s", method, path, text)
	require.NoError(p, json.Unmarshal(text, response))
}
