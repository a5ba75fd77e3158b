"""Build the site; whatever Sphinx warns of is an error."""

import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.site.staging import ROOT, stage

CONFIGURATION = Path(__file__).parent


def main(folder: Path) -> int:
    """Stage the documents, make the pages that come from code, and write the site into a folder."""
    source = folder.with_name(f"{folder.name}-source")
    stage(source)
    return build(source, folder)


def build(source: Path, folder: Path) -> int:
    """Let Sphinx write what is staged; 0 when it had nothing to complain of, such as a link that leads nowhere."""
    strict = ["-W", "--keep-going", "-n", "-q"]
    places = ["-c", str(CONFIGURATION), "-d", f"{source}-read", str(source), str(folder)]
    return build_main([*strict, "-b", "html", "-E", *places])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"))
