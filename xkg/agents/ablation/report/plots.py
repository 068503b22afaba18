"""Plots as SVG, without a library: one bar per component with its interval."""

from collections.abc import Sequence
from html import escape

from xkg.agents.ablation.outcomes import Importance

_ROW, _LEFT, _WIDTH, _TOP, _BOTTOM = 24, 300, 460, 8, 28
_INK, _GRID, _STRONG, _WEAK = "#333", "#ddd", "#c0392b", "#8aa4bf"


def importance_plot(found: Sequence[Importance]) -> str:
    """Relative changes, the largest on top; critical ones are red. Bars longer than four times the median are cut and
    marked."""
    shown = [i for i in found if i.best is not None and i.best.effect is not None][:40]
    if not shown:
        return ""
    effects = [i.best.effect for i in shown if i.best is not None and i.best.effect is not None]
    bounds = [v for e in effects for v in (e.change, e.low, e.high, 0.0) if v is not None]
    largest = max(abs(e.change) for e in effects) or 0.01
    low, high = max(min(bounds), -1.5 * largest), min(max(bounds), 1.5 * largest)
    low, high = (low, high) if high > low else (low - 0.01, high + 0.01)

    def x(value: float) -> float:
        return _LEFT + _WIDTH * (min(max(value, low), high) - low) / (high - low)

    height = _TOP + _ROW * len(shown) + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}" role="img" '
        'aria-label="relative change of the metric by component" font-family="sans-serif" font-size="12">'
    ]
    for tick in _ticks(low, high):
        at = f"{x(tick):.1f}"
        parts.append(f'<line x1="{at}" x2="{at}" y1="{_TOP}" y2="{height - _BOTTOM}" stroke="{_GRID}"/>')
        parts.append(f'<text x="{at}" y="{height - 10}" text-anchor="middle" fill="{_INK}">{tick:+.0%}</text>')
    for n, (importance, effect) in enumerate(zip(shown, effects, strict=True)):
        y = _TOP + _ROW * n
        left, right = sorted((x(0.0), x(effect.change)))
        colour = _STRONG if importance.critical else _WEAK
        name = importance.component.name
        name = name if len(name) <= 44 else f"{name[:43]}…"
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 16}" text-anchor="end" fill="{_INK}">{escape(name)}</text>')
        parts.append(
            f'<rect x="{left:.1f}" y="{y + 4}" width="{max(right - left, 1):.1f}" height="{_ROW - 9}" fill="{colour}"/>'
        )
        if effect.low is not None and effect.high is not None:
            middle = y + _ROW / 2
            parts.append(
                f'<line x1="{x(effect.low):.1f}" x2="{x(effect.high):.1f}" y1="{middle}" y2="{middle}" '
                f'stroke="{_INK}" stroke-width="1.5"/>'
            )
    zero = f"{x(0.0):.1f}"
    parts.append(f'<line x1="{zero}" x2="{zero}" y1="{_TOP}" y2="{height - _BOTTOM}" stroke="{_INK}"/></svg>')
    return "\n".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    span = high - low
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50, 100) if span / s <= 8), span / 4)
    first = int(low // step)
    return [step * n for n in range(first, int(high // step) + 2) if low <= step * n <= high]
