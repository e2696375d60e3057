"""A training that keeps where it is after every epoch, to be killed from outside: FOLDER EPOCHS."""

from __future__ import annotations

import sys

from equipoise.training import Settings, train
from equipoise.training.images import _side_by_side as side_by_side
from helpers import squares
from helpers.cases.training import Learns

if __name__ == "__main__":
    side_by_side.EVERY = side_by_side.TIMES = 0.0
    dataset = squares.dataset()
    learner = Learns("image_network", {"network": "small", "epochs": int(sys.argv[2]), "batch_size": 16})
    train(dataset, learner, squares.jobs(dataset), Settings(selection="last", checkpoints=sys.argv[1]))
