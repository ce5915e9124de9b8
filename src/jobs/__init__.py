"""What `./run.sh` runs: targets.py lists it all; a folder for each problem does it."""
