"""./run.sh look: where the student's models look, a page to play with."""
