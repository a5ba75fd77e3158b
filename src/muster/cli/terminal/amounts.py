"""Amounts typed on the command line, read as in files. An error names the option."""

from datetime import UTC, datetime, timedelta

from muster.model.errors import InvalidInput

# The readers are imported when an amount is read, so that commands without one start fast.
# ruff: noqa: PLC0415


def seconds(text: str, option: str) -> float:
    """A duration: `90s`, `2h`, or a plain number of seconds."""
    from muster.formats.text.units import BadValue, duration_ms

    try:
        return duration_ms(int(text) if text.isdecimal() else text) / 1000
    except BadValue as error:
        raise InvalidInput(f"{option}: {error.problem}") from None


def moment(text: str, option: str) -> str:
    """A time, or a length of time after another moment. It is only checked: the server knows the other moment."""
    from muster.formats.text.units import BadValue, moment_ms

    try:
        moment_ms(text, 0)
    except BadValue as error:
        raise InvalidInput(f"{option}: {error.problem}") from None
    return text


def time_before(text: str, option: str) -> datetime:
    """A moment that was given as a time, or as how long ago it was."""
    from muster.formats.text.units import BadValue, duration_ms, time_ms

    try:
        return datetime.now(UTC) - timedelta(milliseconds=duration_ms(text))
    except BadValue:
        pass
    try:
        return datetime.fromtimestamp(time_ms(text) / 1000, UTC)
    except BadValue as error:
        raise InvalidInput(f"{option}: {error}; or say how long ago, such as 2h or 7d") from None


def pair(text: str, option: str) -> tuple[str, str]:
    """`KEY=VALUE`."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise InvalidInput(f"{option}: {text!r} is not KEY=VALUE")
    return key, value
