"""The colours and patterns of pictures, on light and on dark screens."""

from collections.abc import Iterable

#: Fill and border of the pools: tints of Okabe and Ito's palette, which differ to every kind of
#: colour blindness (https://jfly.uni-koeln.de/color/). The dark text on them has a contrast of 7:1.
FILLS = {
    "reserved": ("#f6b96b", "#b36b00"),
    "shared": ("#f5e663", "#a89400"),
    "isolated": ("#8fd0f5", "#1f78a8"),
    "isolcpus": ("#e3b5d0", "#a3517d"),
    "offlined": ("#c9ccd1", "#7b828c"),
    "offline": ("#eef0f2", "#a3a9b1"),
    "off": ("#eef0f2", "#a3a9b1"),
    "plain": ("#dceaf7", "#7ba3c4"),
    "performance": ("#8fd0f5", "#1f78a8"),
    "efficient": ("#bfe3c8", "#3f8f5b"),
    "lowPower": ("#f5e663", "#a89400"),
    "kind0": ("#bfe3c8", "#3f8f5b"),
    "kind1": ("#8fd0f5", "#1f78a8"),
    "kind2": ("#f6b96b", "#b36b00"),
    "kind3": ("#f5e663", "#a89400"),
}
OTHER = FILLS["isolcpus"]
#: Partitions of isolated are tints of its blue and near it, each with a pattern, which prints
#: without colour.
PARTITIONS = (
    ("#a9def8", "#1f78a8"),
    ("#a5ddd3", "#1d7f72"),
    ("#c3cdf7", "#4a5fb5"),
    ("#d6c9f2", "#7652a8"),
)
#: What a pattern's tile of 8 pixels has: strokes, on the fill of its partition.
PATTERNS = (
    "M-2 2L2 -2M0 8L8 0M6 10L10 6",
    "M2 2h1M6 6h1",
    "M0 4H8M4 0V8",
    "M-2 6L2 10M0 0L8 8M6 -2L10 2",
    "M0 4H8",
    "M4 0V8",
)
#: Containers with exclusive CPUs are dark, all else is light; on dark screens the reverse.
OWNERS = ("#8c2d04", "#5b2a86", "#00553d", "#7a1253", "#1b3f8b", "#4a4a3a")
OWNER_EDGE, OWNER_INK = "#000001", "#fefefe"
#: QoS sets: bars below the CPUs.
SETS = {"bestEffort": "#3c4a5a", "other": "#9aa5b1"}
INK, SOFT, LINE = "#1b2430", "#5a6675", "#c5ccd6"
GROUND, PANEL, INNER = "#ffffff", "#f5f7fa", "#ffffff"
#: What each colour becomes on a dark screen; borders of cores are strong enough for both.
DARK = {
    INK: "#e6ebf1",
    SOFT: "#9aa7b5",
    GROUND: "#10151b",
    PANEL: "#1a2129",
    "#f6b96b": "#8a5200",
    "#f5e663": "#6b5f00",
    "#8fd0f5": "#135a80",
    "#c9ccd1": "#4b525c",
    "#eef0f2": "#232a33",
    "#dceaf7": "#1f3a52",
    "#bfe3c8": "#1f5a35",
    "#e3b5d0": "#6e2f52",
    "#a9def8": "#1c6a94",
    "#a5ddd3": "#1b5f55",
    "#c3cdf7": "#3a4a8f",
    "#d6c9f2": "#584080",
    "#8c2d04": "#f4a582",
    "#5b2a86": "#cbb2e8",
    "#00553d": "#8fdcc0",
    "#7a1253": "#f2a6d0",
    "#1b3f8b": "#a9c1f5",
    "#4a4a3a": "#d8d8b8",
    OWNER_INK: "#0b0f14",
    "#3c4a5a": "#c9d3de",
    "#9aa5b1": "#6b7683",
}
DARK_LINE = "#3b4653"


def style() -> str:
    """The colours of dark screens: rules win over the attributes that they select."""
    rules = [f'[fill="{light}"]{{fill:{dark}}}' for light, dark in DARK.items()]
    rules += [f'[stroke="{LINE}"]{{stroke:{DARK_LINE}}}', "pattern path{stroke:#fff}"]
    return f"<style>@media(prefers-color-scheme:dark){{{''.join(rules)}}}</style>\n"


def fill_of(style: str) -> tuple[str, str]:
    """Fill and border of a mark's style."""
    kind = style.rstrip("0123456789")
    number = int(style.removeprefix(kind) or 0)
    if kind == "partition":
        return PARTITIONS[number % len(PARTITIONS)]
    if kind == "owner":
        return OWNERS[number % len(OWNERS)], OWNER_EDGE
    return FILLS.get(style, OTHER)


def ink_of(style: str) -> str:
    """The colour of letters and numbers on a mark; empty for that of all text."""
    return OWNER_INK if style.startswith("owner") else ""


def pattern_of(style: str) -> str:
    """What SVG fills a mark with over its colour; empty for nothing."""
    return f"url(#{style})" if style.startswith("partition") else ""


def pattern_definitions(styles: Iterable[str]) -> str:
    """The patterns of partitions that are in use."""
    definitions = ""
    for style in sorted(set(filter(pattern_of, styles))):
        path = PATTERNS[int(style.removeprefix("partition")) % len(PATTERNS)]
        _, edge = fill_of(style)
        tile = f'id="{style}" width="8" height="8" patternUnits="userSpaceOnUse"'
        stroke = f'stroke="{edge}" stroke-opacity="0.4" stroke-width="1.4" stroke-linecap="square"'
        definitions += f'<pattern {tile}><path d="{path}" {stroke}/></pattern>\n'
    return f"<defs>\n{definitions}</defs>\n" if definitions else ""
