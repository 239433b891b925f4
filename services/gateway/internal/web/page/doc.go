// Package page defines what a page of the dashboard is: its row in the table of pages, its request and its view.
package page
