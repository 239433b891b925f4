package session

import "net/http"

const (
	themeCookie = "orch-theme"
	// themeAge is the time in seconds for which a browser keeps the choice, a year.
	themeAge = 365 * 24 * 60 * 60
)

// Themes are the themes that a reader may choose. SystemTheme follows the browser.
const (
	SystemTheme = "system"
	LightTheme  = "light"
	DarkTheme   = "dark"
)

// Theme returns the theme that the browser keeps, SystemTheme without a valid one.
func Theme(r *http.Request, secure bool) string {
	if cookie, err := r.Cookie(named(themeCookie, secure)); err == nil && ValidTheme(cookie.Value) {
		return cookie.Value
	}
	return SystemTheme
}

// ValidTheme reports whether a theme may be chosen.
func ValidTheme(theme string) bool {
	return theme == SystemTheme || theme == LightTheme || theme == DarkTheme
}

// SetTheme sends the cookie with a valid theme. SystemTheme removes it.
func SetTheme(w http.ResponseWriter, theme string, secure bool) {
	age := themeAge
	if theme == SystemTheme {
		age = -1
	}
	setCookie(w, themeCookie, theme, age, secure)
}
