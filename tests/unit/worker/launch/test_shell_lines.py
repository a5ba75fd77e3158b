"""The one program of a line is found however its author wrote it, and nothing is taken for one that is several."""

import pytest

from muster.worker.launch.shell_lines import PythonProgram, python_program, single_command


@pytest.mark.parametrize(
    ("line", "before", "python", "program"),
    [
        ("python train.py --lr 0.1", "", "python", "train.py --lr 0.1"),
        ("/opt/env/bin/python train.py", "", "/opt/env/bin/python", "train.py"),
        ("env/bin/python -m pkg.train --x 'a b'", "", "env/bin/python", "-m pkg.train --x 'a b'"),
        ("~/env/bin/python3 train.py", "", "~/env/bin/python3", "train.py"),
        ('"$HOME/my env/bin/python" train.py', "", '"$HOME/my env/bin/python"', "train.py"),
        ("python3.11 -u ./a/train.py --x", "", "python3.11", "-u ./a/train.py --x"),
        ("python -X dev -OO -W ignore train.py", "", "python", "-X dev -OO -W ignore train.py"),
        ("LEVEL=2 NAME='a b' python train.py", "LEVEL=2 NAME='a b' ", "python", "train.py"),
        ("exec python train.py", "exec ", "python", "train.py"),
        ("train.py", "", "", "train.py"),
        ("./train.py --x", "", "", "./train.py --x"),
        ("python train.py --say 'a; b && c | d'", "", "python", "train.py --say 'a; b && c | d'"),
        ("python train.py \\\n  --lr 0.1\n", "", "python", "train.py \\\n  --lr 0.1"),
        ("python train.py > log 2>&1", "", "python", "train.py > log 2>&1"),
        ("python -c 'import x; x.main()'", "", "python", "-c 'import x; x.main()'"),
        ("cd code && python train.py", "cd code && ", "python", "train.py"),
        (
            "set -e\nsource env/bin/activate\npython train.py;",
            "set -e\nsource env/bin/activate\n",
            "python",
            "train.py",
        ),
        ("# what we do\npython train.py", "# what we do\n", "python", "train.py"),
    ],
)
def test_one_python_program_is_found(line: str, before: str, python: str, program: str) -> None:
    assert python_program(line) == PythonProgram(before=before, python=python, program=program)


@pytest.mark.parametrize(
    "line",
    [
        "torchrun train.py",
        "python -m torch.distributed.run train.py",
        "python -m accelerate.commands.launch train.py",
        "python prepare.py && python train.py",
        "python train.py\npython test.py",
        "python train.py | tee log",
        "python train.py &",
        "python train.py || true",
        "(python train.py)",
        "python $(which train.py)",
        "accelerate launch train.py",
        "bash run.sh",
        "-m package",
        "python",
        "python -i",
        "if true; then python train.py; fi",
        "python train.py # & more\n./report",
        "",
        "# nothing",
    ],
)
def test_anything_else_is_left_alone(line: str) -> None:
    assert python_program(line) is None


def test_a_single_command_may_be_any_program() -> None:
    assert single_command("cd x && ./prog -n 3") == ("cd x && ", "./prog -n 3")
    assert single_command("./prog; ./other") is None
    assert single_command("./prog 'a;b' \"c&&d\" e\\;f") == ("", "./prog 'a;b' \"c&&d\" e\\;f")
