"""The `profiles` part of a configuration <-> keys of a job file under a name, and what a job with that name becomes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from muster.formats.admission.merging import completed
from muster.formats.admission.values import values_of, values_text
from muster.formats.jobs.job_file import check_keys
from muster.formats.parts.wire import closest
from muster.formats.text.document import Document, Problems
from muster.formats.text.ranges import is_name
from muster.formats.text.units import BadValue, shown
from muster.formats.text.yaml_text import Loc
from muster.model.client_limits import PROFILES
from muster.model.policy import Profile

PROFILE = "profile"
OF_ONE_JOB = ("name", "team", "depends_on", "array", "workdir", "bundle", PROFILE)
"""Keys that every job says for itself."""


def profiles_part(value: object, problems: Problems, at: Loc) -> tuple[Profile, ...]:
    """The profiles by name. What is wrong with them is noted."""
    if not isinstance(value, dict):
        problems.add(at, f"must be a mapping of names to keys of the job file, not {shown(value)}")
        return ()
    if len(value) > PROFILES:
        problems.add(at, f"{len(value)} profiles are too many", f"at most {PROFILES}")
        return ()
    found = (_profile(str(name), each, problems, (*at, name)) for name, each in value.items())
    return tuple(profile for profile in found if profile is not None)


def profiles_document(profiles: Iterable[Profile]) -> dict[str, dict[str, Any]]:
    """The profiles by name."""
    return {profile.name: values_of(profile.values) for profile in profiles}


def with_profile(document: Document, profiles: Mapping[str, Mapping[str, Any]]) -> Document:
    """A job file with what its profile fills in. Its own keys win. A file without `profile` stays as it is."""
    value = document.value
    if not isinstance(value, dict) or value.get(PROFILE) is None:
        return document
    name = value[PROFILE]
    if not isinstance(name, str) or name not in profiles:
        problems = Problems(document)
        known = ", ".join(profiles) or "none; an operator publishes them in [profiles.NAME] of muster.toml"
        hint = closest(name, profiles) if isinstance(name, str) and profiles else ""
        told = f"there are: {known}" if not hint.startswith("did") else f"{hint} there are: {known}"
        problems.add((PROFILE,), f"there is no profile {shown(name)}", told)
        problems.stop_if_any()
    return replace(document, value=completed(value, profiles[name]))


def _profile(name: str, value: object, problems: Problems, at: Loc) -> Profile | None:
    if not is_name(name):
        problems.add(at, f"{shown(name)} is not a name for a profile", "no blanks, commas, slashes or brackets")
    try:
        kept = values_text(value)
    except BadValue as error:
        problems.add(at, error.problem, error.hint)
        return None
    values = values_of(kept)
    for key in OF_ONE_JOB:
        if key in values:
            problems.add((*at, key), f"a profile cannot say {key}", "every job says it for itself")
    check_keys({key: each for key, each in values.items() if key not in OF_ONE_JOB}, problems, at)
    return Profile(name=name, values=kept)
