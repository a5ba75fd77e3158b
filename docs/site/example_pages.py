"""The example scenarios with what is decided in each, as the tests have it."""

from pathlib import Path

PLANS = Path("tests") / "unit" / "cli" / "plans"


def example_page(folder: Path) -> str:
    """All examples on one page: what they teach, the file, and the plan."""
    intro = (
        "Each of these is a situation for `muster plan FILE --explain`, which needs no server and changes nothing. "
        "Under each stands what is decided in it. A [job file](job.yaml) and a [busy morning](demo.yaml) are there too."
    )
    scenarios = sorted((folder / "scenarios").glob("*.yaml"))
    return "\n\n".join(["# Examples", intro, *(_section(path, folder.parent / PLANS) for path in scenarios)])


def _section(path: Path, plans: Path) -> str:
    lines = path.read_text("utf-8").splitlines()
    said = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    rest = "\n".join(line for line in lines if not line.startswith("#"))
    plan = (plans / f"{path.stem}.txt").read_text("utf-8")
    title = path.stem.replace("-", " ").capitalize()
    head = f"## {title}\n\n{' '.join(said)}\n\n{{download}}`{path.name} <scenarios/{path.name}>`"
    return f"{head}\n\n```yaml\n{rest}\n```\n\n```text\n{plan}```"
