// Package pages has the pages of the dashboard, one file each: parameters, questions, view.
package pages
