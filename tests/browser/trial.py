"""A page with small cells, in the frame of a real chapter: what takes a chapter minutes takes it a moment."""

import html
import re

PARAMETERS = "power: int = 2  # of the curve, 1 to 5"
IMPORTS = "import sys\nimport time\nimport ipywidgets\nfrom IPython.display import Math\nfrom helpers import figures"
FIGURE = """def draw(power):
    figure, axes = figures.subplots()
    axes.plot([number**power for number in range(5)])
    return figures.show(figure, alt=f"a curve of power {power}", name=f"curve-{power}")


draw(power)"""
WIDGET = """slider = ipywidgets.IntSlider(value=1, min=1, max=5, description="power")
shown = ipywidgets.interactive_output(lambda power: display(draw(power)), {"power": slider})
ipywidgets.VBox([slider, shown])"""
SLOW = """for step in range(power):
    print("step", step, flush=True)
    time.sleep(0.2)"""
FORMULA = 'Math("x^2")'
HIDDEN = 'print("power is", power)'
CELLS = [PARAMETERS, IMPORTS, FIGURE, WIDGET, SLOW, FORMULA, HIDDEN]
PRINTED = {2: "printed figure", 4: "printed steps"}  # outputs of the printed page, by index


def trial_page(chapter: str) -> str:
    """The HTML of a chapter with these cells in place of its own text."""
    cells = "".join(cell(code, PRINTED.get(index), hidden=code == HIDDEN) for index, code in enumerate(CELLS))
    body = f'<section class="tex2jax_ignore mathjax_ignore"><h1>Trial</h1><p>Text.</p>{cells}</section>'
    page, count = re.subn(
        r"(<article[^>]*>).*(</article>)", lambda found: found[1] + body + found[2], chapter, flags=re.S
    )
    page = re.sub(r'<nav id="pst-page-toc-nav".*?</nav>', "", page, flags=re.S)  # its sections are gone
    assert count == 1
    return page


def cell(code: str, printed: str | None, *, hidden: bool) -> str:
    """A code cell as myst-nb writes it."""
    source = (
        '<div class="cell_input docutils container"><div class="highlight-ipython3 notranslate"><div class="highlight">'
        f"<pre><span></span>{html.escape(code)}\n</pre></div></div></div>"
    )
    if hidden:
        source = (
            '<details class="admonition hide above-input"><summary>'
            '<p class="collapsed admonition-title">Show code cell source</p>'
            f'<p class="expanded admonition-title">Hide code cell source</p></summary>{source}</details>'
        )
    output = f'<div class="cell_output docutils container"><pre>{printed}</pre></div>' if printed else ""
    tag = "tag_hide-input" if hidden else ""
    return f'<div class="cell {tag} docutils container">{source}{output}</div>'
