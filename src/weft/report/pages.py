"""HTML pages that need nothing else, neither files nor a network."""

from __future__ import annotations

import html
from collections.abc import Iterable

STYLE = """
:root { color-scheme: light dark; --ink: #1e293b; --paper: #ffffff; --soft: #64748b;
        --line: #e2e8f0; --push: #2563eb; --pull: #d97706; --vertex: #64748b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e2e8f0; --paper: #0f172a; --soft: #94a3b8; --line: #334155;
          --push: #60a5fa; --pull: #fbbf24; --vertex: #94a3b8; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 860px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.soft { color: var(--soft); } .wide { overflow-x: auto; }
table { margin-bottom: 1rem; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child, .text { text-align: left; }
th { font-weight: 600; }
.facts td { text-align: left; } .facts td:first-child { color: var(--soft); }
figure { margin: 0 0 .5rem; }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; display: block; }
svg text { fill: var(--soft); } svg .name { fill: var(--ink); font-size: 12px; }
.grid line { stroke: var(--line); } .bars { fill: var(--push); }
.path { fill: none; stroke: var(--line); stroke-width: 1.5; }
circle.push { fill: var(--push); } circle.pull { fill: var(--pull); }
circle.vertex { fill: var(--vertex); }
.key::before { content: "●"; margin-right: .3em; } .key { margin-right: 1.2em; }
.key.push::before { color: var(--push); } .key.pull::before { color: var(--pull); }
.key.vertex::before { color: var(--vertex); }
"""


def page_html(title: str, lead: str, sections: Iterable[tuple[str, str]]) -> str:
    """Return a page from its title, a first paragraph and sections, both HTML.

    Sections without a text are left out.
    """
    body = "\n".join(f"<h2>{name}</h2>\n{text}" for name, text in sections if text)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
<p class="soft">{lead}</p>
{body}
</body>
</html>
"""
