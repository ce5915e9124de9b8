"""What `./run.sh` runs: targets.py lists the targets; a folder per problem implements them."""
