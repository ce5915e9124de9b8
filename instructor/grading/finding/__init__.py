"""From a folder of uploads to people and what they handed in."""
