package action

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

var errIncomplete = errors.New("the block lacks what its service needs")

// titled is a message whose first line is its subject.
func titled(subject, body string) string {
	if subject == "" {
		return body
	}
	return subject + "\n" + body
}

// slack sends to an incoming webhook: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
func slack(b *block, subject, body string) ([]*egress.Message, error) {
	text := body
	if subject != "" {
		text = "*" + subject + "*\n" + body
	}
	return []*egress.Message{egress.NewMessage(http.MethodPost, b.text("url")).JSON(map[string]any{"text": text})}, nil
}

// mattermost sends to an incoming webhook: https://developers.mattermost.com/integrate/webhooks/incoming/.
func mattermost(b *block, subject, body string) ([]*egress.Message, error) {
	host, token := b.text("hostname"), b.text("token")
	if host == "" || token == "" {
		return nil, errIncomplete
	}
	if port, ok := b.data["port"].(float64); ok {
		host += ":" + strconv.Itoa(int(port))
	}
	address := "https://" + host + "/" + strings.Trim(b.text("path"), "/")
	address = strings.TrimSuffix(address, "/") + "/hooks/" + token
	channels := b.texts("channels")
	if len(channels) == 0 {
		channels = []string{""}
	}
	var messages []*egress.Message
	for _, channel := range channels {
		content := map[string]any{"text": titled(subject, body)}
		if channel != "" {
			content["channel"] = channel
		}
		if name := b.text("botname"); name != "" {
			content["username"] = name
		}
		messages = append(messages, egress.NewMessage(http.MethodPost, address).JSON(content))
	}
	return messages, nil
}

// teams sends an adaptive card to a workflow:
// https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using.
func teams(b *block, subject, body string) ([]*egress.Message, error) {
	blocks := []any{map[string]any{"type": "TextBlock", "text": body, "wrap": true}}
	if subject != "" {
		blocks = append([]any{map[string]any{"type": "TextBlock", "text": subject, "weight": "Bolder", "wrap": true}}, blocks...)
	}
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks,
	}
	return []*egress.Message{egress.NewMessage(http.MethodPost, b.text("url")).JSON(map[string]any{
		"type": "message",
		"attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
		}},
	})}, nil
}

// discordLimit is the length of a message, in characters.
const discordLimit = 2000

// discord executes a webhook: https://discord.com/developers/docs/resources/webhook#execute-webhook.
func discord(b *block, subject, body string) ([]*egress.Message, error) {
	id, token := b.text("webhook_id"), b.text("webhook_token")
	if id == "" || token == "" {
		return nil, errIncomplete
	}
	text := []rune(titled(subject, body))
	content := map[string]any{"content": string(text[:min(len(text), discordLimit)]), "tts": b.flag("tts")}
	if name := b.text("botname"); name != "" {
		content["username"] = name
	}
	address := "https://discord.com/api/webhooks/" + url.PathEscape(id) + "/" + url.PathEscape(token)
	return []*egress.Message{egress.NewMessage(http.MethodPost, address).JSON(content)}, nil
}

// pagerDutyLimit is the length of a summary, in characters.
const pagerDutyLimit = 1024

// pagerDuty triggers an alert: https://developer.pagerduty.com/docs/send-alert-event.
func pagerDuty(b *block, subject, body string) ([]*egress.Message, error) {
	key := b.text("integration_key")
	if key == "" {
		return nil, errIncomplete
	}
	host := "events.pagerduty.com"
	if b.text("region_name") == "eu" {
		host = "events.eu.pagerduty.com"
	}
	source := b.text("source")
	if source == "" {
		source = "orch"
	}
	details := map[string]any{"body": body}
	maps.Copy(details, b.object("custom_details"))
	summary := []rune(titled(subject, body))
	payload := map[string]any{
		"summary": string(summary[:min(len(summary), pagerDutyLimit)]), "source": source, "severity": "warning", "custom_details": details,
	}
	for field, name := range map[string]string{"component": "component", "group": "group", "class_id": "class"} {
		if text := b.text(field); text != "" {
			payload[name] = text
		}
	}
	event := map[string]any{"routing_key": key, "event_action": "trigger", "payload": payload}
	if link := b.text("clickable_url"); link != "" {
		event["links"] = []any{map[string]any{"href": link, "text": "Open"}}
	}
	return []*egress.Message{egress.NewMessage(http.MethodPost, "https://"+host+"/v2/enqueue").JSON(event)}, nil
}

// opsgenieLimit is the length of an alert's message, in characters.
const opsgenieLimit = 130

// opsgenie creates an alert: https://docs.opsgenie.com/docs/alert-api#create-alert.
func opsgenie(b *block, subject, body string) ([]*egress.Message, error) {
	key := b.text("apikey")
	if key == "" {
		return nil, errIncomplete
	}
	host := "api.opsgenie.com"
	if b.text("region_name") == "eu" {
		host = "api.eu.opsgenie.com"
	}
	title := []rune(subject)
	if len(title) == 0 {
		title = []rune(body)
	}
	alert := map[string]any{"message": string(title[:min(len(title), opsgenieLimit)]), "description": body}
	var responders []any
	for field, kind := range map[string]string{"target_user": "user", "target_team": "team", "target_schedule": "schedule", "target_escalation": "escalation"} {
		for _, target := range b.texts(field) {
			named := "name"
			if kind == "user" {
				named = "username"
			}
			responders = append(responders, map[string]any{"type": kind, named: target})
		}
	}
	if len(responders) > 0 {
		alert["responders"] = responders
	}
	for _, field := range []string{"alias", "entity"} {
		if text := b.text(field); text != "" {
			alert[field] = text
		}
	}
	if tags := b.texts("tags"); len(tags) > 0 {
		alert["tags"] = tags
	}
	if details := b.object("details"); len(details) > 0 {
		alert["details"] = details
	}
	if priority, ok := b.data["priority"].(float64); ok && priority >= 1 && priority <= 5 {
		alert["priority"] = fmt.Sprintf("P%d", int(priority))
	}
	m := egress.NewMessage(http.MethodPost, "https://"+host+"/v2/alerts").JSON(alert)
	m.Header.Set("Authorization", "GenieKey "+key)
	return []*egress.Message{m}, nil
}

// sendgrid sends a mail: https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send.
func sendgrid(b *block, subject, body string) ([]*egress.Message, error) {
	key, from, to := b.text("api_key"), b.text("sender_email"), b.texts("to_emails")
	if key == "" || from == "" || len(to) == 0 {
		return nil, errIncomplete
	}
	var receivers []any
	for _, address := range to {
		receivers = append(receivers, map[string]any{"email": address})
	}
	m := egress.NewMessage(http.MethodPost, "https://api.sendgrid.com/v3/mail/send").JSON(map[string]any{
		"personalizations": []any{map[string]any{"to": receivers}}, "from": map[string]any{"email": from}, "subject": subject,
		"content": []any{map[string]any{"type": "text/plain", "value": body}},
	})
	m.Header.Set("Authorization", "Bearer "+key)
	return []*egress.Message{m}, nil
}

// twilio sends a text message: https://www.twilio.com/docs/messaging/api/message-resource.
func twilio(b *block, subject, body string) ([]*egress.Message, error) {
	account, token, from := b.text("account_sid"), b.text("auth_token"), b.text("from_phone_number")
	to := b.texts("to_phone_numbers")
	if account == "" || token == "" || from == "" || len(to) == 0 {
		return nil, errIncomplete
	}
	var messages []*egress.Message
	for _, number := range to {
		m := egress.NewMessage(http.MethodPost, "https://api.twilio.com/2010-04-01/Accounts/"+url.PathEscape(account)+"/Messages.json").
			Form(url.Values{"From": {from}, "To": {number}, "Body": {titled(subject, body)}})
		m.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(account+":"+token)))
		messages = append(messages, m)
	}
	return messages, nil
}
