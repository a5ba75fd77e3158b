"""What a type of GPU is called, from the label that the vendor puts on nodes. Pure."""

import re
from collections.abc import Mapping

_MAKERS = ("nvidia", "amd", "intel", "tesla", "geforce", "quadro", "instinct")
_FAMILIES = ("rtx", "gtx", "titan", "radeon", "gaudi")
"""Words that mean a model only together with the next one."""
_MODEL = re.compile(r"[a-z]+[0-9]+[a-z0-9]*")
_SLICE = re.compile(r"mig-[0-9]+g\.[0-9]+gb(?:\.me)?")


def gpu_type(label: str, resource: str, names: Mapping[str, str]) -> str:
    """`h100` for `NVIDIA-H100-80GB-HBM3`. `names` are those that an operator has given.

    A part of a GPU is a type of its own: `a100-mig-1g.5gb`. Without a label, the resource may say that it is a part.
    """
    if label in names:
        return names[label]
    said = f"{label}-{resource.rpartition('/')[2]}".lower()
    part = _SLICE.search(said)
    words = [word for word in re.split(r"[-_ ]+", label.lower()) if word and word not in _MAKERS]
    model = _model(words)
    return "-".join(each for each in (model, part[0] if part else "") if each)


def _model(words: list[str]) -> str:
    for place, word in enumerate(words):
        if word in _FAMILIES:
            return "-".join(words[place : place + 2])
        if _MODEL.fullmatch(word):
            return word
    return "-".join(words)
