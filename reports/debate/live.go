package debate

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"lockstep/reports/explorer"
	"lockstep/reports/playground"
	"lockstep/reports/sites"
)

const (
	livePage       = "live.html"
	playgroundPage = "playground.html"
)

var (
	//go:embed live.css
	liveCSS string
	//go:embed live.js
	liveJS string
)

// livePages writes the page on which the runs of claims can be changed and played again, the playground, and the script with the program.
func (s *site) livePages() ([]sites.File, error) {
	if s.Live == nil {
		return nil, nil
	}
	engine, err := s.Live.Engine()
	if err != nil {
		return nil, err
	}
	frame, err := explorer.Frame()
	if err != nil {
		return nil, err
	}
	menu, err := json.Marshal(s.Live.Menu)
	if err != nil {
		return nil, err
	}
	meanings, err := json.Marshal(promiseMeaning)
	if err != nil {
		return nil, err
	}
	p := s.page(livePage, "Play it yourself")
	script := playground.Script(liveJS)
	p.Policy = playground.Policy([]string{string(style), string(explorer.Style()), liveCSS}, string(script))
	var b, own bytes.Buffer
	err = s.templates().ExecuteTemplate(&b, "live", struct {
		page
		Engine               string
		Menu, Meanings       template.JS
		Frame                template.HTML
		PageStyle, LiveStyle template.CSS
		Script               template.JS
	}{p, playground.EngineFile, template.JS(menu), template.JS(meanings), frame, explorer.Style(), template.CSS(liveCSS), script})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", livePage, err)
	}
	if err := s.Live.Write(&own, playground.Page{Start: "pause-after-acquire/redlock", Back: "index.html"}); err != nil {
		return nil, fmt.Errorf("%s: %w", playgroundPage, err)
	}
	return []sites.File{{Name: livePage, Data: b.Bytes()}, {Name: playgroundPage, Data: own.Bytes()}, {Name: playground.EngineFile, Data: engine}}, nil
}
