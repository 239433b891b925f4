package orchestration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration"
)

// mailing is a domain with a mail server, and an automation that writes to the addresses.
func mailing(t *testing.T, to string, change func(*orchestration.Config)) (*domain, <-chan string) {
	t.Helper()
	address, mails := smtpServer(t)
	d := newDomain(t, func(c *orchestration.Config) {
		c.Automations.SMTPURL, c.Automations.SMTPFrom = "smtp://"+address, "Orch <orch@example.com>"
		change(c)
		c.Automations.SMTPURL = strings.Replace(c.Automations.SMTPURL, "ADDRESS", address, 1)
	})
	d.automation(`{"name":"mail","trigger":{"type":"event","posture":"Reactive","expect":["run.failed"]},"actions":[
		{"type":"send-email-notification","emails":["` + strings.ReplaceAll(to, ",", `","`) + `"],"subject":"s","body":"b"}]}`)
	return d, mails
}

func TestRecipientsOfMail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		domains []string
		to      string
		sent    bool
	}{
		"a stranger":                     {[]string{"example.com"}, "victim@elsewhere.example", false},
		"a stranger beside the allowed":  {[]string{"example.com"}, "ops@example.com,victim@elsewhere.example", false},
		"a domain that contains another": {[]string{"example.com"}, "ops@notexample.com", false},
		"a subdomain":                    {[]string{"example.com"}, "ops@a.example.com", false},
		"a configured domain":            {[]string{"example.com"}, "Ops@EXAMPLE.com", true},
		"every domain":                   {[]string{"*"}, "ops@elsewhere.example", true},
		"no setting and no keys":         {nil, "ops@elsewhere.example", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, mails := mailing(t, test.to, func(c *orchestration.Config) { c.Automations.SMTPDomains = test.domains })
			d.emit("run.failed", "run.7")
			if test.sent {
				require.Contains(t, <-mails, "RCPT TO:<"+strings.Split(test.to, ",")[0]+">")
				return
			}
			d.eventually("orch.automation.action.failed", 1)
			require.Empty(t, mails)
		})
	}
}

func TestMailOfAnAccountIsBounded(t *testing.T) {
	t.Parallel()
	d, mails := mailing(t, "a@example.com,b@example.com", func(c *orchestration.Config) { c.Automations.SMTPPerHour = 3 })
	d.emit("run.failed", "run.1")
	require.Contains(t, <-mails, "RCPT TO:<b@example.com>")
	d.emit("run.failed", "run.2")
	d.eventually("orch.automation.action.failed", 1)
	require.Empty(t, mails)
}

func TestMailWithoutTLSIsNotSent(t *testing.T) {
	t.Parallel()
	d, mails := mailing(t, "ops@example.com", func(c *orchestration.Config) { c.Automations.SMTPURL = "smtp+starttls://ADDRESS" })
	d.emit("run.failed", "run.1")
	d.eventually("orch.automation.action.failed", 1)
	require.Empty(t, mails)
}
