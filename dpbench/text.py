"""Texts of unknown origin, fit to be printed."""


def printable(text: str) -> str:
    """Return `text` on one line, with control characters and bytes that are no text escaped."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
