"""Makes and checks the data: invented worlds, and the recorded trainings of question 6f."""
