"""The student package: the model, its data and its training. `./run.sh help` lists the jobs."""

from .attention import CausalCrossAttention, CausalSelfAttention
from .dataset import CharCorruptionDataset, NameDataset
from .helper import finetune, initialize_rope_model, initialize_vanilla_model, pretrain, train
from .model import GPT, GPTConfig
from .trainer import Trainer, TrainerConfig
from .utils import evaluate_places, sample
