"""The colours of pictures, on light screens and on dark ones."""

#: Fill and border of the pools: tints of Okabe and Ito's palette, which every kind of colour blindness tells apart.
#: https://jfly.uni-koeln.de/color/ The text on them is dark, contrast above 7:1.
FILLS = {
    "reserved": ("#f6b96b", "#b36b00"),
    "shared": ("#f5e663", "#a89400"),
    "isolated": ("#8fd0f5", "#1f78a8"),
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
#: For the owners of CPUs, one after the other; the first for all else.
OTHERS = (("#e3b5d0", "#a3517d"), FILLS["efficient"], FILLS["plain"], FILLS["shared"])
INK, SOFT, LINE, GROUND, PANEL, INNER = "#1b2430", "#5a6675", "#c5ccd6", "#ffffff", "#f5f7fa", "#ffffff"
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
}
DARK_LINE = "#3b4653"


def style() -> str:
    """The colours of dark screens: rules win over the attributes that they select."""
    rules = [f'[fill="{light}"]{{fill:{dark}}}' for light, dark in DARK.items()]
    return (
        f'<style>@media(prefers-color-scheme:dark){{{"".join(rules)}[stroke="{LINE}"]{{stroke:{DARK_LINE}}}}}</style>\n'
    )


def fill_of(pool: str) -> tuple[str, str]:
    """Fill and border."""
    owner = ord(pool[0]) if ": " in pool else 0
    return FILLS.get(pool) or OTHERS[owner % len(OTHERS)]
