"""What every part of src/ may use: files, and how many processors there are."""
