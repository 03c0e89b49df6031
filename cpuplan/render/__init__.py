"""Values -> text, JSON, SARIF, SVG: what people and other programs read. Nothing here decides
anything.
"""
