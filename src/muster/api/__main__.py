"""`python -m muster.api`: print the OpenAPI document, from which the types of the dashboard are made."""

import json
import sys

from muster.api.app import described


def document() -> str:
    """The document, the same on every machine."""
    return json.dumps(described(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
