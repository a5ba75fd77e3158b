"""TOML text -> plain values like those of YAML and JSON, and within the same bounds.

Dates and times become text, as in YAML. Code that expects a time reads that text. Other code can show it.
"""

import math
import tomllib
from datetime import date, datetime, time

from muster.formats.text.yaml_text import DEPTH_MAX, INTEGER_DIGITS_MAX, BadText, Loc, path_text


def read_toml(text: str) -> object:
    """The document in the text as plain values. An empty text is an empty mapping."""
    try:
        return _plain(tomllib.loads(text), ())
    except tomllib.TOMLDecodeError as error:
        raise BadText(f"not TOML: {error}") from None
    except RecursionError:
        raise BadText("nested too deeply") from None
    except BadText:
        raise
    except ValueError:  # Python refuses to read numbers with thousands of digits.
        raise BadText("it has a number that is too large") from None


def _plain(value: object, at: Loc) -> object:
    """The value, and everything in it, as JSON could say it."""
    if len(at) > DEPTH_MAX:
        raise BadText("nested too deeply")
    match value:
        case dict():
            return {key: _plain(each, (*at, key)) for key, each in value.items()}
        case list():
            return [_plain(each, (*at, place)) for place, each in enumerate(value)]
        case datetime() | date() | time():
            return value.isoformat().replace("+00:00", "Z")
        case float() if not math.isfinite(value):
            raise BadText(f"{path_text(at)}: {value} is not a number that means anything here")
        case int() if abs(value) >= 10**INTEGER_DIGITS_MAX:
            raise BadText(f"{path_text(at)}: the number is too large")
        case _:
            return value
