package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// webhookFormView is the data of the form of a webhook's settings.
type webhookFormView struct {
	Title, Path, Back, Action, Button string
	Name, Description, Template       string
	Filter                            string
	// New reports a webhook that does not exist yet; only then the form has a template.
	New                     bool
	Schemes, Deduplications []choice
	Secrets                 string
	SecretsHint             string
	Rate                    rateFields
	Allow, Topics, Silence  string
	// Undefined, FilterErrors, Methods and Handshakes are choices of the contract; Accounts are the service accounts.
	Undefined, FilterErrors, Methods, Handshakes, Accounts []choice
	VerifyToken, VerifyTokenHint                           string
	// Response has a header a line.
	ResponseStatus, ResponseHeaders, ResponseBody string
	Presets                                       presetsView
	Problems                                      []string
	// Invalid has the names of the fields that the server refused.
	Invalid map[string]bool
}

// webhookFields are the fields of the form as their reader typed them.
type webhookFields struct {
	name, description, template, scheme, secrets string
	deduplication                                string
	rate                                         rateFields
	allow, topics, silence                       string
	undefined, verifyToken, account              string
	filter, filterError                          string
	methods, handshakes                          []string
	preset                                       string
	response                                     responseFields
}

// customScheme is the one that needs more than its secrets; the API configures it.
const customScheme = "hmac"

// topicScheme is the one whose messages come from topics.
const topicScheme = "sns"

func webhookNewPage() page.Page {
	return page.Page{
		Pattern: "/webhooks/new",
		Section: "/webhooks",
		Needs:   []string{orchv1.WebhookService_CreateWebhook_FullMethodName},
		Uses:    append([]string{serviceAccountsRPC}, presetCalls...),
		Show:    showNewWebhook,
		Actions: []page.Action{{
			Name: "webhook-create", Calls: []string{orchv1.WebhookService_CreateWebhook_FullMethodName},
			Done: "The webhook is created. Its address is a secret: whoever knows it may post.",
			Do:   createWebhook,
		}},
	}
}

// showNewWebhook shows the form with the values of the preset that the parameter preset names.
func showNewWebhook(r *page.Request) (page.View, error) {
	name := r.Text("preset")
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	presets, chosen, err := readPresets(r, name)
	if err != nil {
		return page.View{}, err
	}
	f := webhookFields{template: exampleTemplate(r)}
	if chosen != nil {
		f = chosen.fill()
	}
	return newWebhookForm(r, f, presets, chosen, nil), nil
}

func newWebhookForm(r *page.Request, f webhookFields, presets []*orchv1.WebhookPreset, chosen *webhookPreset, err error) page.View {
	view := webhookForm(r, f, nil, err)
	if v, ok := view.Data.(webhookFormView); ok {
		v.Presets = newPresetsView(presets, chosen)
		view.Data = v
	}
	return view
}

func webhookEditPage() page.Page {
	return page.Page{
		Pattern: "/webhooks/webhook/{id}/edit",
		Section: "/webhooks",
		Needs:   []string{orchv1.WebhookService_ReadWebhook_FullMethodName, orchv1.WebhookService_UpdateWebhook_FullMethodName},
		Uses:    []string{serviceAccountsRPC},
		Show: func(r *page.Request) (page.View, error) {
			webhook := readWebhook(r.Vars["id"])
			if err := r.Call(webhook); err != nil {
				return page.View{}, err
			}
			return webhookForm(r, fieldsOf(webhook.Result()), webhook.Result(), nil), nil
		},
		Actions: []page.Action{{
			Name: "webhook-edit", Calls: []string{orchv1.WebhookService_UpdateWebhook_FullMethodName},
			Done: "The settings are saved.",
			Do:   editWebhook,
		}},
	}
}

// exampleTemplate makes an event of any JSON body.
func exampleTemplate(r *page.Request) string {
	return "{\n  \"event\": \"demo.received\",\n  \"resource\": {\"" + r.Server.Vocabulary.ResourceID() +
		"\": \"demo.{{ body.id }}\"},\n  \"payload\": {{ body | tojson }}\n}\n"
}

func fieldsOf(w *orchv1.Webhook) webhookFields {
	f := webhookFields{
		name: w.GetName(), description: w.GetDescription(), deduplication: enumWord(w.GetDeduplication()),
		allow: strings.Join(w.GetAllowedIps(), "\n"), undefined: enumWord(w.GetUndefined()), account: w.GetServiceAccountId(),
		filter: w.GetFilter(), filterError: enumWord(w.GetFilterError()),
	}
	for _, m := range w.GetMethods() {
		f.methods = append(f.methods, enumWord(m))
	}
	for _, h := range w.GetHandshakes() {
		f.handshakes = append(f.handshakes, enumWord(h))
	}
	if w.GetVerification() != nil {
		f.scheme = enumWord(w.GetVerification().GetScheme())
		f.topics = strings.Join(w.GetVerification().GetTopicArns(), "\n")
	}
	if w.MaxSilence != nil {
		f.silence = strconv.FormatInt(w.GetMaxSilence(), 10)
	}
	f.response, f.rate = responseFieldsOf(w.GetResponse()), rateFieldsOf(w.GetRateLimit())
	return f
}

func postedFields(r *page.Request) webhookFields {
	return webhookFields{
		name: r.Field("name"), description: r.Field("description"), template: newlines(r.Form.Get("template")), scheme: r.Field("scheme"),
		secrets: newlines(r.Form.Get("secrets")), deduplication: r.Field("deduplication"),
		rate: postedRate(r), allow: newlines(r.Field("allow")), preset: r.Field("preset"),
		topics: newlines(r.Field("topics")), silence: r.Field("silence"), undefined: r.Field("undefined"), account: r.Field("account"),
		filter: strings.TrimSpace(newlines(r.Form.Get("filter"))), filterError: r.Field("filter_error"),
		verifyToken: r.Form.Get("verify_token"), methods: r.Form["methods"], handshakes: r.Form["handshakes"], response: postedResponse(r),
	}
}

// newlines undoes what browsers do to the lines of a text area.
func newlines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// body is the form as the API has it. Verification that stays the same is not sent, so the server keeps all of it.
func (f webhookFields) body(before *orchv1.Webhook) (apicall.JSON, error) {
	body := apicall.JSON{
		"name": f.name, "description": f.description, "allowed_ips": lines(f.allow), "max_silence": nil, "service_account_id": nil, "filter": nil,
		"methods": append([]string{}, f.methods...), "handshakes": append([]string{}, f.handshakes...),
	}
	for name, value := range map[string]string{
		"deduplication": f.deduplication, "undefined": f.undefined, "service_account_id": f.account, "filter": f.filter, "filter_error": f.filterError,
		"verify_token": f.verifyToken, // Without one the stored token stays.
	} {
		if value != "" {
			body[name] = value
		}
	}
	if f.silence != "" {
		seconds, err := strconv.ParseInt(f.silence, 10, 64)
		if err != nil {
			return nil, rpc.Detail(http.StatusUnprocessableEntity, "The seconds of silence need a whole number.")
		}
		body["max_silence"] = seconds
	}
	var err error
	if body["rate_limit"], err = f.rate.body(); err != nil {
		return nil, err
	}
	if body["response"], err = f.response.body(); err != nil {
		return nil, err
	}
	return body, f.verify(body, before.GetVerification())
}

// verify adds the verification to a body, if it changes.
func (f webhookFields) verify(body apicall.JSON, before *orchv1.WebhookVerification) error {
	secrets, topics := lines(f.secrets), lines(f.topics)
	sameScheme := before != nil && f.scheme == enumWord(before.GetScheme())
	verification := apicall.JSON{"scheme": f.scheme}
	switch {
	case f.scheme == "" && before == nil, sameScheme && len(secrets) == 0 && slices.Equal(topics, before.GetTopicArns()):
		return nil
	case f.scheme == "":
		body["verification"] = nil
		return nil
	case sameScheme:
		var err error
		if verification, err = verificationInput(before); err != nil {
			return err
		}
	case f.scheme == customScheme && f.preset == "": // A preset has the rest of its scheme.
		return rpc.Detail(http.StatusUnprocessableEntity, "Configure the scheme hmac with the API or orch webhook update.")
	}
	if !sameScheme || len(secrets) > 0 { // An absent list keeps the stored secrets.
		verification["secrets"] = secrets
	}
	if f.scheme == topicScheme || len(topics) > 0 {
		verification["topic_arns"] = topics
	}
	body["verification"] = verification
	return nil
}

// verificationInput is a stored verification as a change of it: without its secrets, which the server does not return.
func verificationInput(v *orchv1.WebhookVerification) (apicall.JSON, error) {
	raw, err := restjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode verification: %w", err)
	}
	var input apicall.JSON
	if err := json.Unmarshal(raw, &input); err != nil {
		return nil, fmt.Errorf("decode verification: %w", err)
	}
	maps.DeleteFunc(input, func(name string, value any) bool { return value == nil || name == "secret_count" })
	input["tolerance"] = max(v.GetTolerance(), 1)
	if len(v.GetTopicArns()) == 0 {
		delete(input, "topic_arns")
	}
	return input, nil
}

// lines returns the lines of a text that are not blank.
func lines(text string) []string {
	found := []string{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			found = append(found, strings.TrimRight(line, "\r"))
		}
	}
	return found
}

func createWebhook(r *page.Request) (page.View, error) {
	f := postedFields(r)
	presets, chosen, err := readPresets(r, f.preset)
	if err != nil {
		return page.View{}, err
	}
	body, err := f.body(nil)
	if err != nil {
		return newWebhookForm(r, f, presets, chosen, err), nil
	}
	body["template"] = f.template
	if chosen != nil {
		chosen.complete(body)
	}
	created := apicall.New[*orchv1.Webhook](orchv1.WebhookService_CreateWebhook_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(created); err != nil {
		if !refusesValues(err) {
			return page.View{}, err
		}
		return newWebhookForm(r, f, presets, chosen, err), nil
	}
	return r.Done(r.To("webhooks", "webhook", created.Result().GetId())+"?address=show", "webhook-create", -1), nil
}

func editWebhook(r *page.Request) (page.View, error) {
	webhook, f := readWebhook(r.Vars["id"]), postedFields(r)
	if err := r.Call(webhook); err != nil {
		return page.View{}, err
	}
	body, err := f.body(webhook.Result())
	if err != nil {
		return webhookForm(r, f, webhook.Result(), err), nil
	}
	in := apicall.ID(r.Vars["id"])
	in.Body = body
	if err := r.Call(apicall.New[empty](orchv1.WebhookService_UpdateWebhook_FullMethodName, in)); err != nil {
		if !refusesValues(err) {
			return page.View{}, err
		}
		return webhookForm(r, f, webhook.Result(), err), nil
	}
	return r.Done(r.To("webhooks", "webhook", r.Vars["id"]), "webhook-edit", -1), nil
}

// refusesValues reports whether an error is about the values of the form, so its reader can correct them.
func refusesValues(err error) bool {
	status := rpc.HTTPError(err).GetStatus()
	return status == http.StatusUnprocessableEntity || status == http.StatusConflict
}

// webhookForm shows the form. A nil webhook means a new one.
func webhookForm(r *page.Request, f webhookFields, before *orchv1.Webhook, err error) page.View {
	v := webhookFormView{
		Title: "New webhook", Path: r.Path(), Back: r.To("webhooks"), Action: "webhook-create", Button: "Create the webhook", New: before == nil,
		Name: f.name, Description: f.description, Template: f.template, Secrets: f.secrets,
		Rate: f.rate, Allow: f.allow, Topics: f.topics, Silence: f.silence, Filter: f.filter, Invalid: map[string]bool{},
		ResponseStatus: f.response.status, ResponseHeaders: f.response.headers, ResponseBody: f.response.text,
	}
	if before != nil {
		v.Title, v.Back, v.Action, v.Button = "Settings of "+before.GetName(), r.To("webhooks", "webhook", before.GetId()), "webhook-edit", "Save the settings"
		v.VerifyTokenHint = "An empty field keeps the stored token."
		if n := before.GetVerification().GetSecretCount(); n > 0 {
			v.SecretsHint = strconv.FormatInt(n, 10) + " stored. They are never shown. An empty field keeps them."
		}
	}
	v.Schemes = append(v.Schemes, choice{Title: "none", Selected: f.scheme == ""})
	for _, name := range enumWords(orchv1.WebhookScheme(0).Descriptor()) {
		if name != customScheme || f.scheme == customScheme {
			v.Schemes = append(v.Schemes, choice{Value: name, Title: name, Selected: name == f.scheme})
		}
	}
	v.Deduplications = append(v.Deduplications, choice{Title: "default", Selected: f.deduplication == ""})
	for _, name := range enumWords(orchv1.WebhookDeduplication(0).Descriptor()) {
		v.Deduplications = append(v.Deduplications, choice{Value: name, Title: name, Selected: name == f.deduplication})
	}
	v.Undefined = enumChoices(orchv1.WebhookUndefined(0).Descriptor(), cmp.Or(f.undefined, enumWord(orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_LENIENT)))
	v.FilterErrors = enumChoices(orchv1.WebhookFilterError(0).Descriptor(), cmp.Or(f.filterError, enumWord(orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FAIL)))
	v.Methods = enumChoices(orchv1.WebhookMethod(0).Descriptor(), f.methods...)
	v.Handshakes = enumChoices(orchv1.WebhookHandshake(0).Descriptor(), f.handshakes...)
	v.Accounts, v.VerifyToken = serviceAccountChoices(r, f.account), f.verifyToken
	view := page.View{Title: v.Title, Template: "webhook_form.html"}
	if err != nil {
		view.Status = http.StatusUnprocessableEntity
		v.Problems, v.Invalid = formProblems(err)
	}
	view.Data = v
	return view
}

// enumChoices are the values of an enum.
func enumChoices(descriptor protoreflect.EnumDescriptor, selected ...string) []choice {
	var all []choice
	for _, name := range enumWords(descriptor) {
		all = append(all, choice{Value: name, Title: name, Selected: slices.Contains(selected, name)})
	}
	return all
}

// serviceAccountChoices are the service accounts of the account. A reader who may not see them can keep or remove the chosen one.
func serviceAccountChoices(r *page.Request, selected string) []choice {
	all := []choice{{Title: "none", Selected: selected == ""}}
	if r.May(serviceAccountsRPC) {
		accounts := apicall.New[*orchv1.ServiceAccountList](serviceAccountsRPC, inAccount(r, apicall.JSON{"limit": param.MaxRows}))
		_ = r.Call(accounts)
		for _, a := range accounts.Result().GetServiceAccounts() {
			all = append(all, choice{Value: a.GetId(), Title: show.Line(a.GetName(), 60), Selected: a.GetId() == selected})
		}
	}
	if !slices.ContainsFunc(all, func(c choice) bool { return c.Selected }) {
		all = append(all, choice{Value: selected, Title: selected, Selected: true})
	}
	return all
}

const serviceAccountsRPC = orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName

// formProblems words a refusal, and names the fields that it is about.
func formProblems(err error) (texts []string, fields map[string]bool) {
	fields = map[string]bool{}
	for _, e := range rpc.HTTPError(err).GetFieldErrors().GetErrors() {
		name := ""
		for _, part := range e.GetLoc() {
			if word := part.GetKey(); word != "" && word != "body" {
				if name == "" {
					fields[word] = true
				} else {
					name += "."
				}
				name += word
			}
		}
		texts = append(texts, strings.TrimPrefix(name+": "+e.GetMsg(), ": "))
	}
	if len(texts) == 0 {
		texts = []string{page.Problem(err)}
	}
	return texts, fields
}
