"""Makes the data: invented worlds, editions from Wikipedia, and the recorded trainings of 6f."""
