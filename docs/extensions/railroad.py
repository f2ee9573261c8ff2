"""The directive ``railroad``: rules of a grammar file as railroad diagrams, with links to SVG.

::

    ```{railroad} cerlab/logic/ceql/grammar.lark
    :without: AND ALL
    choice within
    ```

Alternatives with a word after ``without`` are left out. It reads the grammar that the parser runs
on (with the grammar of lark's own grammars), so a diagram is never behind the language.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import railroad
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from lark import Lark, Token, Tree

ROOT = Path(__file__).parents[2]


class Railroad(Directive):
    """Railroad diagrams of the rules named in the directive."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"without": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the page: the name and the diagram of each rule."""
        left_out = set(self.options.get("without", "").split())
        rules = {n: _without(rule, left_out) for n, rule in _rules(self.arguments[0]).items()}
        page: list[nodes.Node] = []
        for name in " ".join(self.content).split():
            drawing = io.StringIO()
            railroad.Diagram(_drawn(rules[name], name)).writeSvg(drawing.write)
            link = f'<a href="{self._file(rules[name], name)}">'
            page.append(
                nodes.raw(
                    "",
                    f'<figure class="railroad" tabindex="0" aria-label="the rule {name}">'
                    f"<figcaption>{name} ({link}SVG</a>)</figcaption>{drawing.getvalue()}</figure>",
                    format="html",
                )
            )
        return page

    def _file(self, rule: Any, name: str) -> str:
        """Write the diagram with its styles to a file of the site; return its address."""
        env = self.state.document.settings.env
        file = f"_images/railroad-{env.docname.replace('/', '-')}-{name}.svg"
        path = Path(env.app.outdir, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as out:
            railroad.Diagram(_drawn(rule, name)).writeStandalone(out.write, _STYLES)
        return "../" * env.docname.count("/") + file


_STYLES = """
svg.railroad-diagram path { stroke: black; stroke-width: 1.5; fill: none; }
svg.railroad-diagram rect { stroke: black; stroke-width: 1.5; fill: none; }
svg.railroad-diagram text { font: 14px monospace; text-anchor: middle; }
svg.railroad-diagram g.non-terminal text { font-style: italic; }
"""
"""Styles of a diagram that stands alone; in a page it has those of `manual.css`."""


@cache
def _rules(path: str) -> dict[str, Tree[Token]]:
    """Return the alternatives of each rule; of `name` and `l_name`, use the first."""
    reader = Lark.open_from_package("lark", "lark.lark", ("grammars",), parser="lalr")
    rules: dict[str, Tree[Token]] = {}
    for item in reader.parse((ROOT / path).read_text() + "\n").children:
        if isinstance(item, Tree) and item.data == "rule":
            name = str(item.children[0]).lstrip("?!").removeprefix("l_")
            rules.setdefault(name, item.children[-1])  # type: ignore[arg-type]
    return rules


def _without(tree: Any, words: set[str]) -> Any:
    """Return the alternatives of a rule without those that contain one of the words."""
    if not words or tree.data != "expansions":
        return tree
    kept = [part for part in tree.children if words.isdisjoint(_terminals(part))]
    return Tree("expansions", kept)


def _terminals(part: Any) -> Iterator[str]:
    return (str(token).rstrip("i").strip('"') for token in part.scan_values(lambda _: True))


def _drawn(tree: Any, rule: str) -> Any:
    """Return the diagram of a part of a rule."""
    if isinstance(tree, Token):
        return _word(tree)
    parts = [child for child in tree.children if child is not None]
    match tree.data:
        case "expansions":
            return _choice(parts, rule)
        case "alias" | "value" | "literal" | "name" | "atom" | "rule_params":
            return _drawn(parts[0], rule)
        case "expansion":
            return railroad.Sequence(*[_drawn(each, rule) for each in parts])
        case "maybe":
            return railroad.Optional(_drawn(parts[0], rule))
        case "expr" if len(parts) == 1:
            return _drawn(parts[0], rule)
        case "expr":
            return _repeated(_drawn(parts[0], rule), str(parts[1]))
    raise ValueError(f"no diagram for {tree.data} in the rule {rule}")


def _choice(parts: list[Any], rule: str) -> Any:
    """Return the alternatives; a left-recursive one becomes an iteration of the others."""
    looped = [part for part in parts if _first(part) == rule]
    others = [_drawn(part, rule) for part in parts if _first(part) != rule]
    base = others[0] if len(others) == 1 else railroad.Choice(0, *others)
    if not looped:
        return base
    tails = [_drawn(_without_first(part), rule) for part in looped]
    return railroad.Sequence(
        base, railroad.ZeroOrMore(tails[0] if len(tails) == 1 else railroad.Choice(0, *tails))
    )


def _expansion(part: Any) -> Any:
    while isinstance(part, Tree) and part.data == "alias":
        part = part.children[0]
    return part


def _first(part: Any) -> str | None:
    expansion = _expansion(part)
    tokens = expansion.scan_values(lambda _: True) if isinstance(expansion, Tree) else []
    return next((str(token).removeprefix("l_") for token in tokens), None)


def _without_first(part: Any) -> Any:
    return Tree("expansion", _expansion(part).children[1:])


def _repeated(part: Any, sign: str) -> Any:
    return {
        "?": railroad.Optional,
        "*": railroad.ZeroOrMore,
        "+": railroad.OneOrMore,
    }[sign](part)


_WORDS = {"_AND_FILTER": "AND", "_OR_FILTER": "OR", "_TIMESTAMP": "TIMESTAMP", "_DATE": "DATE"}


def _word(token: Token) -> Any:
    text = str(token)
    if match := re.fullmatch(r'"(.*)"i?', text):
        return railroad.Terminal(match[1].replace('\\"', '"'))
    if text in _WORDS:
        return railroad.Terminal(_WORDS[text])
    return railroad.NonTerminal(text.removeprefix("l_"))


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("railroad", Railroad)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
