"""The callbacks for Lightning and for the Trainer of Hugging Face, with the real libraries: `make integrations`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LIGHTNING = """
import json, sys, torch
import lightning.pytorch as pl
from muster.train.lightning import lightning_callback

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        loss = (self.layer(batch) ** 2).mean()
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

pl.seed_everything(1)
path, steps = sys.argv[1], int(sys.argv[2])
data = torch.utils.data.DataLoader(torch.arange(32.0).reshape(8, 4) / 32, batch_size=2)
callback = lightning_callback(path, every=2)
trainer = pl.Trainer(
    max_steps=steps, callbacks=[callback], logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, accelerator="cpu",
)
model = Model()
seen = []
class Seen(pl.Callback):
    def on_train_batch_end(self, trainer, *_):
        seen.append(trainer.global_step)
trainer.callbacks.insert(0, Seen())
trainer.fit(model, data)
print(json.dumps({"seen": seen, "weights": model.layer.weight.flatten().tolist(), "epoch": trainer.current_epoch}))
"""

HUGGINGFACE = """
import json, sys, torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from muster.train.huggingface import trainer_callback

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels=None):
        out = self.layer(x)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}

class Seen(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        seen.append(state.global_step)

torch.manual_seed(1)
path, steps = sys.argv[1], int(sys.argv[2])
seen = []
data = [{"x": torch.ones(4) * i, "labels": torch.ones(1)} for i in range(2)]
args = TrainingArguments(
    output_dir=path + "-out", max_steps=steps, per_device_train_batch_size=2, save_strategy="no", report_to=[],
    use_cpu=True, disable_tqdm=True, learning_rate=0.1, lr_scheduler_type="constant", logging_steps=1,
)
model = Model()
Trainer(model=model, args=args, train_dataset=data, callbacks=[Seen, trainer_callback(path, every=2)]).train()
print(json.dumps({"seen": seen, "weights": model.layer.weight.flatten().tolist()}))
"""


def ran(program: str, path: Path, steps: int) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-c", program, str(path), str(steps)]
    around = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    ended = subprocess.run(command, env=around, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr[-3000:]
    answer: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize("program", [LIGHTNING, HUGGINGFACE], ids=["lightning", "huggingface"])
def test_a_trainer_resumes_as_if_it_had_never_stopped(program: str, tmp_path: Path) -> None:
    whole = ran(program, tmp_path / "whole", 8)
    ran(program, tmp_path / "parts", 4)
    resumed = ran(program, tmp_path / "parts", 8)
    assert whole["seen"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert resumed["seen"] == [5, 6, 7, 8]
    assert resumed["weights"] == pytest.approx(whole["weights"], abs=1e-6)
